import { type CrashPoint, newOrder, openEffectsSystem } from './effects-system.ts'

/**
 * A process that stores orders, runs their effects, and kills itself at a certain point. The test checks what is stored.
 * The first argument is JSON with the location of the store, the number of orders, the crash point, for a point before or
 * after an act the end of the id of its effect, and the time of the leases if it is another one.
 */
const { store_location, point, effect_suffix, orders, lease_ms } = JSON.parse(process.argv[2] ?? '{}')

const crashAt = (at: CrashPoint, id: string): void => {
  if (at === point && id.endsWith(effect_suffix)) process.kill(process.pid, 'SIGKILL')
}
const system = await openEffectsSystem(store_location, crashAt, [], lease_ms)
for (let number = 0; number < orders; number += 1) {
  const stored = await system.runner.insert(newOrder(`order-${number}`))
  if (number === orders - 1) crashAt('inserted', effect_suffix)
  const order = await system.runner.runEffects(stored)
  if (order.done.length > 0) crashAt('after outcome', effect_suffix)
}
await system.close()
