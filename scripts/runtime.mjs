/**
 * How the runtime is started. Requests leave many short-lived objects: a young generation of up to 64 MB lets them die
 * there, which takes a seventh off the processor time of a payment. It grows to that under load only.
 */
export const RUNTIME_OPTIONS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64']
