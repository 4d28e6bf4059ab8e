#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| airdock_fuzz::within_memory(
    airdock_fuzz::bodies::remembered::run,
    input
));
