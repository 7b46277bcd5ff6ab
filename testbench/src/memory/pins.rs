//! The port of a Verilated model: names with a prefix.

use super::{Command, FromMaster, FromPort};
use crate::model::{Model, Port};

/// The pins of one memory master.
#[derive(Debug, Clone, Copy)]
pub struct Pins {
    cmd_valid: Port,
    cmd_op: Port,
    cmd_addr: Port,
    cmd_len: Port,
    wdata: Port,
    wdata_be: Port,
    cmd_ready: Port,
    rdata: Port,
    rdata_valid: Port,
    wdata_req: Port,
    cmd_done: Port,
    error: Port,
    idle: Port,
}

impl Pins {
    /// The pins `PREFIX_cmd_valid` and so on.
    pub fn new(model: &Model, prefix: &str) -> Self {
        let port = |name: &str| model.port(&format!("{prefix}_{name}"));
        Pins {
            cmd_valid: port("cmd_valid"),
            cmd_op: port("cmd_op"),
            cmd_addr: port("cmd_addr"),
            cmd_len: port("cmd_len"),
            wdata: port("wdata"),
            wdata_be: port("wdata_be"),
            cmd_ready: port("cmd_ready"),
            rdata: port("rdata"),
            rdata_valid: port("rdata_valid"),
            wdata_req: port("wdata_req"),
            cmd_done: port("cmd_done"),
            error: port("error"),
            idle: port("idle"),
        }
    }

    /// What the master drives.
    #[inline]
    pub fn get(&self, model: &Model) -> FromMaster {
        let command = model.is_set(self.cmd_valid).then(|| Command {
            op: model.get(self.cmd_op) as u8,
            addr: model.get(self.cmd_addr) as u32,
            len: model.get(self.cmd_len) as u32,
        });
        FromMaster { command, wdata: model.get(self.wdata) as u16, wdata_be: model.get(self.wdata_be) as u8 }
    }

    /// Drives what the port says. Data that is not valid is noise, so that nobody uses it.
    #[inline]
    pub fn set(&self, model: &mut Model, port: FromPort) {
        model.set(self.cmd_ready, u64::from(port.cmd_ready));
        model.set(self.rdata_valid, u64::from(port.rdata.is_some()));
        model.set(self.rdata, u64::from(port.rdata.unwrap_or(0xDEAD)));
        model.set(self.wdata_req, u64::from(port.wdata_req));
        model.set(self.cmd_done, u64::from(port.cmd_done));
        model.set(self.error, u64::from(port.error));
        model.set(self.idle, u64::from(port.idle));
    }
}
