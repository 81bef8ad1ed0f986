import { ROLES } from '#lib/process/role.ts'
import { runProcess } from '#lib/process/run.ts'
import { startRoles } from '../roles.ts'
import { writeDemo } from './demo.ts'
import { localEnvironment } from './local.ts'

/** The whole system in this process, on the embedded stores, with the demonstration's data: `npm start` (R1 to R4). */
runProcess(async (lifecycle) => {
  const { environment, home, operator_token } = await localEnvironment(process.env)
  const { urls, operator } = await startRoles(ROLES, environment, lifecycle)
  await writeDemo(home, urls, operator_token, operator)
  return urls
})
