import { keepProcessAlive } from '#lib/base/time.ts'
import { runCommand } from './program.ts'

// The reader of a pipe, such as head, may end first.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
const terminal = {
  variables: process.env,
  directory: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
}
// The timers of `lib` keep no process alive, and a command that waits, as with --watch, may have nothing else.
const release = keepProcessAlive()
// Not awaited: the one file of the package is a script, which cannot wait at its top.
void runCommand(process.argv.slice(2), terminal).then((code) => {
  process.exitCode = code
  release()
})
