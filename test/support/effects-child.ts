import { type CrashPoint, newOrder, openEffectsSystem } from './effects-system.ts'

/**
 * A process that stores orders, works on them, and kills itself at a certain point: the tests look at what is left.
 * Its first parameter says where its state is, at which point it dies, and at which effect.
 */
const { place, point, effect_suffix, orders } = JSON.parse(process.argv[2] ?? '{}')

const die = (at: CrashPoint, id: string): void => {
  if (at === point && id.endsWith(effect_suffix)) process.kill(process.pid, 'SIGKILL')
}
const system = await openEffectsSystem(place, die)
for (let number = 0; number < orders; number++) {
  const stored = await system.runner.insert(newOrder(`order-${number}`))
  if (number === orders - 1) die('inserted', effect_suffix)
  const driven = await system.runner.drive(stored)
  if (driven.done.length > 0) die('after outcome', effect_suffix)
}
await system.runner.stop()
await system.store.close()
