import { startSandbox } from '../../services/sandbox/sandbox.fixture.ts'

// A sandbox in a process of its own, which a test can kill.
const { url } = await startSandbox(process.env['CHILD_DIRECTORY'] ?? '')
process.stdout.write(`${url}\n`)
