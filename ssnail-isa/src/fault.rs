//! Fault codes: what can stop a script, and the number under which the CPU reads it.

use std::fmt;

macro_rules! faults {
    ($( $code:literal $name:ident $text:literal; )*) => {
        /// Why a job ended without reaching HALT; the discriminant is the code in register 05.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Fault { $( #[doc = $text] $name = $code, )* }

        impl Fault {
            /// Every fault, ascending by code.
            pub const ALL: &'static [Fault] = &[ $( Fault::$name, )* ];

            /// The cause in words.
            pub const fn text(self) -> &'static str {
                match self { $( Fault::$name => $text, )* }
            }
        }
    };
}

faults! {
    1 Illegal "unknown opcode, byte 3 not 0, or a parameter outside its limits";
    2 Range "an operand, or the fetch, is not wholly inside one RAM region";
    3 Alignment "an operand or PC is not aligned as its type needs";
    4 Memory "the RAM reported a read error";
    5 Aborted "aborted by the CPU";
    6 Format "weight format not supported";
}

impl Fault {
    /// The code that the CPU reads.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The fault with this code, if there is one.
    pub fn from_code(code: u8) -> Option<Fault> {
        Self::ALL.iter().copied().find(|f| f.code() == code)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault {}: {}", self.code(), self.text())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn codes_are_one_to_six() {
        let codes: Vec<u8> = Fault::ALL.iter().map(|f| f.code()).collect();
        assert_eq!(codes, [1, 2, 3, 4, 5, 6]);
        assert_eq!(Fault::from_code(3), Some(Fault::Alignment));
        assert_eq!(Fault::from_code(0), None);
    }
}
