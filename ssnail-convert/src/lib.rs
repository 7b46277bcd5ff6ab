//! GGUF model in, SSNAIL memory image out.
//!
//! | module | what lives there |
//! |---|---|
//! | [`gguf`] | reading and writing GGUF files |
//! | [`ggml`] | ggml's tensor types and their weights as F32 |
//! | [`vocab`] | the model's own tokenizer |
//! | [`image_tokenizer`] | the tables of the image's tokenizer |
//! | [`tokcheck`] | does the image's tokenizer agree with the model's? |
//! | [`model`] | architectures: hyperparameters, objects, scripts |
//! | [`plan`] | weight formats, addresses, what fits |
//! | [`weights`], [`image`], [`output`] | converting weights, writing the file |
//! | [`convert`] | the conversion as a whole |
//! | [`synth`] | random models as GGUF files |
//! | [`cli`] | the command line |

pub mod cli;
pub mod convert;
pub mod ggml;
pub mod gguf;
pub mod image;
pub mod image_tokenizer;
pub mod model;
pub mod output;
pub mod plan;
pub mod synth;
#[doc(hidden)]
pub mod testdata;
pub mod tokcheck;
pub mod vocab;
pub mod weights;
