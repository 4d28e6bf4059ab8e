//! The documents in `docs/` and the program, held against each other.

mod commands;
mod lines;
mod messages;
mod reference;
mod sources;

use airdock_testkit::{Need, Suite};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "the_reference_is_made_from_the_program",
            &[],
            reference::is_current,
        )
        .test(
            "every_command_line_in_the_documents_is_understood",
            &[],
            lines::are_understood,
        )
        .test(
            "commands_in_the_documents_run",
            &[Need::Program("bash")],
            lines::run,
        )
        .test(
            "every_link_in_the_documents_leads_somewhere",
            &[],
            lines::lead_somewhere,
        )
        .test(
            "every_message_that_is_explained_exists",
            &[],
            messages::exist,
        )
        .test("every_message_is_explained", &[], messages::are_explained)
}
