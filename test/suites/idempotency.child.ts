import { keyNamed, openIdempotencySystem, runMutation } from './idempotency.system.ts'

/** Runs the mutation once in a process that kills itself at the given point. */
const { store_location, point } = JSON.parse(process.argv[2] ?? '{}')

const die = (at: string): void => {
  if (at === point) process.kill(process.pid, 'SIGKILL')
}
const system = await openIdempotencySystem(store_location)
await system.idempotency.run(keyNamed('crash'), 'hash', (id) => runMutation(system, id, die))
die('complete')
