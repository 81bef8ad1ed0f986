import { runProcess } from '#lib/platform/process/run.ts'
import { parseRoleNames, startRoles } from './roles.ts'

/** Runs the roles named on the command line in this process: `node main.ts payments`, `node main.ts all`. */
runProcess(async (lifecycle) => {
  const { urls } = await startRoles(parseRoleNames(process.argv.slice(2)), process.env, lifecycle)
  return urls
})
