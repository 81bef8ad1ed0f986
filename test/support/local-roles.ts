import { parseRoleNames, startRoles } from '../../app/roles.ts'
import { runProcess } from '../../app/run.ts'

/** Runs roles as main.ts does, but as a local run: the receivers of the tests are on this machine (R4). */
runProcess(async (lifecycle) => {
  const names = parseRoleNames(process.argv.slice(2))
  const { urls } = await startRoles(names, process.env, lifecycle, { schema: 'verify', is_local_run: true })
  return urls
})
