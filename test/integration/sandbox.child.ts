import { startSandbox } from '../../services/sandbox/sandbox.fixture.ts'

// Runs a sandbox in its own process, so that a test can kill it.
const { url } = await startSandbox(process.env['CHILD_DIRECTORY'] ?? '')
process.stdout.write(`${url}\n`)
