/**
 * The options that Node.js is started with. A request leaves many short-lived objects. A young generation of up to
 * 64 MB lets them die there, which saves a seventh of the processor time per payment. It grows that far only under load.
 */
export const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64']
