//! One macro for blocks of u32 fields: a line a field makes the struct member, reader, writer and documentation.

/// A field of a block, for documentation and `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo {
    /// Offset from the start of the block, in bytes.
    pub offset: usize,
    /// Name.
    pub name: &'static str,
    /// Meaning.
    pub text: &'static str,
}

/// Defines a struct of u32 fields at fixed offsets, with `read_fields`, `write_fields` and `FIELDS`.
macro_rules! u32_fields {
    ($(#[$meta:meta])* $name:ident { $( $offset:literal $field:ident $text:literal; )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name { $( #[doc = $text] pub $field: u32, )* }

        impl $name {
            /// The fields, ascending by offset.
            pub const FIELDS: &'static [crate::image::FieldInfo] = &[ $( crate::image::FieldInfo {
                offset: $offset, name: stringify!($field), text: $text,
            }, )* ];

            /// Reads the fields from the bytes of the block.
            ///
            /// # Panics
            /// When `bytes` is shorter than the block.
            pub fn read_fields(bytes: &[u8]) -> Self {
                use byteorder::{ByteOrder, LittleEndian};
                $name { $( $field: LittleEndian::read_u32(&bytes[$offset..]), )* }
            }

            /// Writes the fields into the bytes of the block; other bytes stay.
            ///
            /// # Panics
            /// When `bytes` is shorter than the block.
            pub fn write_fields(&self, bytes: &mut [u8]) {
                use byteorder::{ByteOrder, LittleEndian};
                $( LittleEndian::write_u32(&mut bytes[$offset..], self.$field); )*
            }
        }
    };
}
pub(crate) use u32_fields;
