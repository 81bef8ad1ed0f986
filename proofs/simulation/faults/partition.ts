import { sleep } from '#lib/base/time.ts'
import type { Choices } from '../parts/random.ts'
import type { World } from '../world/world.ts'

/** The time of a partition between roles, in ms: shorter and longer than the limits of calls. */
const ROLES_MS = [100, 2_000, 8_000] as const
/** The time for which a process reaches nothing: longer than its leases. */
const PLACE_MS = [10_000, 20_000, 40_000] as const

/** Cuts the processes of a role off from those of another role, from a database or from the bus: both ways, or one way. */
export async function cutRolesOff(
  world: World,
  choices: Choices,
  { is_one_way }: { readonly is_one_way: boolean },
): Promise<void> {
  const roles = [...Map.groupBy(world.cluster.places, (place) => place.roles).values()].map((places) =>
    places.map(({ name }) => name),
  )
  const one = choices.pick(roles)
  const other = choices.pick([...roles, ...roles, ...serversOf(world).map((name) => [name])])
  const [from, to] = choices.chance(0.5) ? [one, other] : [other, one]
  await cutFor(world, choices.pick(ROLES_MS), { from, to, is_one_way })
}

/** Cuts one process off from everything, or leaves it half of that: it hears all others, and none hears it. */
export async function cutPlaceOff(world: World, choices: Choices): Promise<void> {
  const { name } = choices.pick(world.cluster.places)
  const others = world.cluster.places.map((place) => place.name).filter((other) => other !== name)
  const to = [...others, ...serversOf(world)]
  await cutFor(world, choices.pick(PLACE_MS), { from: [name], to, is_one_way: choices.chance(0.3) })
}

interface Cut {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly is_one_way: boolean
}

async function cutFor(
  { partitions, trace }: World,
  time_ms: number,
  { from, to, is_one_way }: Cut,
): Promise<void> {
  trace.add(`${from} cut off from ${to} for ${time_ms} ms${is_one_way ? ', one way' : ''}`)
  const repairs = [partitions.cut(from, to), ...(is_one_way ? [] : [partitions.cut(to, from)])]
  await sleep(time_ms)
  for (const repair of repairs) repair()
}

function serversOf({ databases }: World): readonly string[] {
  return ['bus', ...[...databases.keys()].map((role) => `store ${role}`)]
}
