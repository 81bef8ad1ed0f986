import { runCommand, runProcess } from '#lib/platform/process/run.ts'
import { diagnose } from './doctor.ts'
import { migrate } from './migrate.ts'
import { parseRoleNames, startRoles } from './roles.ts'

/**
 * Runs the roles named on the command line in this process: `node main.ts payments`, `node main.ts all`. `node main.ts
 * migrate` completes their MongoDB databases instead, which comes before the first start and before every new version;
 * `node main.ts doctor ROLE...` looks for what would keep roles from starting.
 */
const words = process.argv.slice(2)
if (words.length === 1 && words[0] === 'migrate') {
  runCommand((printLine) => migrate(process.env, printLine))
} else if (words[0] === 'doctor') {
  runCommand((printLine) => diagnose(words.slice(1), process.env, printLine))
} else {
  runProcess(async (lifecycle) => {
    const { urls } = await startRoles(parseRoleNames(words), process.env, lifecycle, { schema: 'verify' })
    return urls
  })
}
