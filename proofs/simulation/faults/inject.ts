import { sleep, withTimeout } from '#lib/base/time.ts'
import type { Choices } from '../parts/random.ts'
import type { Place } from '../world/cluster.ts'
import { CREATE_KINDS } from '../world/provider/requests.ts'
import { PROVIDER_ORIGINS } from '../world/providers.ts'
import { RECEIVER_ORIGINS } from '../world/receiver.ts'
import type { World } from '../world/world.ts'
import { moveAccount } from './move-account.ts'
import { replaceMasterKey, restart, updateRelease } from './operator-work.ts'
import { cutPlaceOff, cutRolesOff } from './partition.ts'
import type { FaultKind, Plan } from './plan.ts'
import { isRestoring } from './restore.ts'
import { switchAccount } from './switch-account.ts'

/** Switches the faults of a plan on until `isOver`, then repairs everything. Resolves when every process serves again. */
export async function injectFaults(world: World, plan: Plan, isOver: () => boolean): Promise<void> {
  setRates(world, (kind) => plan.faults.get(kind) ?? 0)
  const restarts = new Set<Promise<void>>()
  const disturbances = DISTURBANCES.flatMap(([kind, act]) => {
    const rate = plan.faults.get(kind)
    if (rate === undefined) return []
    const choices = world.choicesOf(kind)
    return [
      (async () => {
        // Between 0.6 s at the highest rate and 10 s at the lowest: longer than a small simulation, in which each kind shall happen.
        const pause_ms = plan.is_small ? plan.load_ms / 2 : 300 * rate ** -0.5
        for (;;) {
          await sleep(-Math.log(1 - choices.fraction()) * pause_ms)
          if (isOver()) return
          // A small seed has so many of them that a restored system would never start.
          if (isRestoring(world)) continue
          const restart = act(world, choices)
          if (restart === undefined) continue
          const tracked = restart.finally(() => restarts.delete(tracked))
          restarts.add(tracked)
        }
      })(),
    ]
  })
  await Promise.all(disturbances)
  while (!isOver()) await sleep(100)
  setRates(world, () => 0)
  world.bus.faults.is_down = false
  while (restarts.size > 0) await Promise.all(restarts)
  // A pause, a stopped store and a former primary are faults until their end.
  const paused_until_ms = world.cluster.places.map(({ process }) => process?.paused_until_ms ?? 0)
  const over_ms = Math.max(world.stores.faultUntilMs(), ...paused_until_ms)
  await sleep(Math.max(0, over_ms - world.scheduler.now_ms()))
}

/** Sets the probabilities of all faults that happen by themselves. */
function setRates(world: World, rateOf: (kind: FaultKind) => number): void {
  const { stores, rpc, http, bus, provider_faults, receivers, scanner } = world
  Object.assign(stores.faults, {
    refused: rateOf('store refuses'),
    lost_command: rateOf('store loses commands'),
    lost_result: rateOf('store loses results'),
    slow: rateOf('store is slow'),
    slow_max_ms: 8_000,
  })
  Object.assign(rpc.faults, {
    lost_request: rateOf('rpc loses requests'),
    lost_response: rateOf('rpc loses responses'),
    repeated: rateOf('rpc repeats requests'),
    late: rateOf('rpc is late'),
    late_max_ms: 4_000,
  })
  Object.assign(http.faults, {
    refused: rateOf('http refuses'),
    lost_request: rateOf('http loses requests'),
    lost_response: rateOf('http loses responses'),
    repeated: rateOf('http repeats requests'),
    late: rateOf('http is late'),
    late_max_ms: 12_000,
  })
  Object.assign(bus.faults, {
    lost: rateOf('bus loses'),
    repeated: rateOf('bus repeats'),
    late: rateOf('bus is late'),
    late_max_ms: 5_000,
    // Whatever the rate of the kind is: an attacker does not hold back.
    attacked: rateOf('bus is attacked') > 0 ? 0.5 : 0,
  })
  Object.assign(provider_faults, {
    bad_response: rateOf('provider responds badly'),
    slow_response: rateOf('provider is slow'),
    slow_max_ms: 40_000,
    lost_callback: rateOf('provider loses callbacks'),
    repeated_callback: rateOf('provider repeats callbacks'),
    contradiction: rateOf('provider contradicts itself'),
    late_success: rateOf('provider succeeds late'),
    forgotten: rateOf('provider forgets'),
    // Whatever the rate of the kind is: these are few, or need others.
    lost_refund: rateOf('provider loses refunds') > 0 ? 0.4 : 0,
    late_refusal: rateOf('provider refuses late') > 0 ? 0.2 : 0,
    other_id: rateOf('provider reports another id') > 0 ? 0.2 : 0,
    dropped: rateOf('provider drops operations') > 0 ? 0.2 : 0,
  })
  Object.assign(scanner.faults, {
    gone: rateOf('scanner is gone'),
    silent: rateOf('scanner hangs'),
    slow: rateOf('scanner is slow'),
    slow_max_ms: 15_000,
    bad_response: rateOf('scanner responds badly'),
  })
  Object.assign(receivers.faults, {
    failure: rateOf('receiver fails'),
    silence: rateOf('receiver is silent'),
    slow: rateOf('receiver is slow'),
    slow_max_ms: 15_000,
  })
}

/** Does something to the system once. Returns the end of what it began. */
type Disturb = (world: World, choices: Choices) => Promise<void> | undefined

/** The same act, but not while it is under way, and only once if `is_final`. */
function alone(act: Disturb, is_final = false): Disturb {
  const busy = new WeakSet<World>()
  return (world, choices) => {
    if (busy.has(world)) return undefined
    busy.add(world)
    return act(world, choices)?.finally(() => is_final || busy.delete(world))
  }
}

/** The faults that happen at a moment. */
const DISTURBANCES: readonly (readonly [FaultKind, Disturb])[] = [
  [
    'store stops',
    ({ stores, databases }, choices) => {
      stores.stop(choices.pick([...databases.keys()]), choices.between(100, 7_000))
      return undefined
    },
  ],
  [
    'store fails over',
    ({ stores, databases }, choices) => {
      stores.failOver(choices.pick([...databases.values()]), choices.between(1_000, 10_000))
      return undefined
    },
  ],
  [
    'bus stops',
    ({ bus }, choices) => {
      bus.faults.is_down = true
      return sleep(choices.between(100, 5_000)).then(() => {
        bus.faults.is_down = false
      })
    },
  ],
  [
    'provider account is down',
    (world, choices) => takeDown(world, choices.pick(PROVIDER_ORIGINS), choices.between(100, 15_000)),
  ],
  [
    'process is killed',
    async (world, choices) => {
      const place = await choosePlace(world, choices)
      if (place?.stop === undefined) return
      world.cluster.kill(place)
      await restart(world, place, choices.pick([10, 500, 5_000]))
    },
  ],
  [
    'process stops in order',
    (world, choices) => {
      const place = choices.pick(world.cluster.places)
      if (place.stop === undefined) return undefined
      return world.cluster.stop(place, 20_000).then(() => restart(world, place, choices.pick([10, 1_000])))
    },
  ],
  [
    'process is paused',
    async (world, choices) => {
      if (choices.chance(BEYOND_LEASE)) return pauseBeyondLease(world, choices)
      const place = await choosePlace(world, choices)
      if (place === undefined) return
      world.cluster.pause(place, choices.pick([100, 2_000, 8_000, 20_000, 45_000]))
    },
  ],
  [
    'clock steps',
    (world, choices) => {
      setClock(world, choices.pick(world.cluster.places), choices.between(-900, 900))
      return undefined
    },
  ],
  [
    'clock is wrong',
    async (world, choices) => {
      const place = choices.pick(world.cluster.places)
      setClock(world, place, choices.pick([-1, 1]) * choices.between(6_000, 200_000))
      await sleep(choices.between(100, 5_000))
      setClock(world, place, choices.between(-500, 500))
    },
  ],
  [
    'receiver is gone',
    // Longer than the tries of most endpoints, so that callbacks to it are dead in the end.
    alone((world, choices) =>
      takeDown(world, choices.pick(RECEIVER_ORIGINS), choices.between(5_000, 40_000)),
    ),
  ],
  ['roles are partitioned', (world, choices) => cutRolesOff(world, choices, { is_one_way: false })],
  ['partition is one-way', (world, choices) => cutRolesOff(world, choices, { is_one_way: true })],
  ['partition lasts', alone(cutPlaceOff)],
  [
    'role is killed',
    alone(async (world, choices) => {
      const { roles } = choices.pick(world.cluster.places)
      const copies = world.cluster.places.filter((place) => place.roles === roles && place.stop !== undefined)
      for (const place of copies) world.cluster.kill(place)
      const delay_ms = choices.pick([10, 500, 5_000])
      await Promise.all(copies.map((place) => restart(world, place, delay_ms)))
    }),
  ],
  [
    'process is killed at a create',
    alone(async (world, choices) => {
      const { cluster, activity } = world
      const process = await withTimeout(activity.nextRequest(choices.pick(CREATE_KINDS)), KIND_WAIT_MS)
      // Before the response can arrive, or soon after it.
      await sleep(choices.between(0, choices.pick([1, 4])))
      const place = cluster.places.find((each) => process !== undefined && each.process === process)
      if (place?.stop === undefined) return
      cluster.kill(place)
      await restart(world, place, choices.pick([10, 500, 5_000]))
    }),
  ],
  ['release is updated', alone(updateRelease, true)],
  ['master key is replaced', alone(replaceMasterKey, true)],
  ['provider account moves', alone(moveAccount, true)],
  ['provider account is switched', alone(switchAccount)],
  [
    'machine is suspended',
    async (world, choices) => {
      const place = await choosePlace(world, choices)
      // The shorter ones are below what the clock guard notices.
      if (place !== undefined) world.cluster.suspend(place, choices.pick([1_500, 4_000, 8_000, 20_000]))
    },
  ],
]

/** No connection to an origin opens for a time. */
async function takeDown({ http }: World, origin: string, time_ms: number): Promise<void> {
  http.down.add(origin)
  await sleep(time_ms)
  http.down.delete(origin)
}

/** A fault waits at most this time for a process that begins something. */
const ACTIVITY_WAIT_MS = 1_000
/** The same for something of a certain kind, which may be rare. */
const KIND_WAIT_MS = 3_000

/**
 * The place of a fault: any, or the next process that sends a request or a write, while that is on its way. Most faults at
 * any moment would hit a process that does nothing. Half of the others wait for a kind of request or write that the seed
 * chooses, because rare ones, such as a refund, would hardly ever be hit.
 */
async function choosePlace({ cluster, activity }: World, choices: Choices): Promise<Place | undefined> {
  if (choices.chance(0.5)) return choices.pick(cluster.places)
  const process = choices.chance(0.5)
    ? await withTimeout(activity.next(), ACTIVITY_WAIT_MS)
    : await withTimeout(activity.nextOfKind(choices), KIND_WAIT_MS)
  if (process === undefined) return undefined
  await sleep(choices.between(0, choices.pick([1, 10, 1_000])))
  return cluster.places.find((place) => place.process === process)
}

/** The share of pauses that begin when a process has leased an effect, and last longer than the lease. */
const BEYOND_LEASE = 0.3
/** A longer lease says when an effect runs again. It does not limit what a process may do. */
const LEASE_MAX_MS = 65_000

/**
 * Pauses a process between the write that leases an effect and the act, until others have the lease. Pauses at any moment
 * hardly ever begin in that millisecond and last as long.
 */
async function pauseBeyondLease({ cluster, lease_moments, machine }: World, choices: Choices): Promise<void> {
  const moment = Promise.withResolvers<void>()
  // More than clocks differ.
  const longer_ms = choices.between(1_500, 6_000)
  const cancel = lease_moments.strikeNext(choices, ({ process, until_ms }) => {
    moment.resolve()
    const left_ms = until_ms - machine.now_ms()
    const place = cluster.places.find((each) => each.process === process)
    if (place !== undefined && left_ms <= LEASE_MAX_MS) cluster.pause(place, left_ms + longer_ms)
  })
  await withTimeout(moment.promise, KIND_WAIT_MS)
  cancel()
}

/** Sets the clock of a place to an error against the true time. */
function setClock({ trace, scheduler }: World, { name, clock_error }: Place, offset_ms: number): void {
  trace.add(`${name} has a clock that is wrong by ${Math.round(offset_ms)} ms`)
  clock_error.offset_ms = offset_ms
  clock_error.set_at_ms = scheduler.now_ms()
}
