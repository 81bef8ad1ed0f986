import { ROLES, type RoleName } from '#lib/role/role.ts'
import type { Rpc } from '#lib/rpc/rpc.ts'
import { runToEnd } from '../child.ts'
import { createSystemSettings, type SystemSettings, type Variables } from '../system-settings.ts'
import { hostOfCopy, nameOfCopies } from './copies.ts'
import { createPlace, type Place, type PlaceEvents, type Release } from './place.ts'

/** The processes of a system, and clients of its RPCs. */
export interface Fleet {
  readonly places: readonly Place[]
  readonly settings: SystemSettings
  readonly operator: Rpc
  readonly payments: Rpc
  /** Kills all processes and closes the clients. */
  end(): Promise<void>
}

/** Where a fleet keeps its state, and what its processes are. Without NATS one process has all roles. */
export interface FleetPlan {
  readonly directory: string
  readonly nats_url: string | undefined
  readonly mongodb_uri: string | undefined
  /** The number of processes of a role. */
  readonly copies: (role: RoleName) => number
  /** Settings of all processes. */
  readonly variables: Variables
  /** Settings of the processes of one place, such as its own way to a server. */
  readonly variablesOf?: (place: string, role: RoleName) => Promise<Variables>
  /** The release that a place runs at first; by default this one. */
  readonly releaseOf?: (place: Place) => Release
}

/**
 * Starts the processes of a system, each role with its number of copies, or one process with all roles. The process that
 * calls it must have called `resolveCopies`, so that its clients find the copies by the name of their role.
 */
export async function startFleet(plan: FleetPlan, events: PlaceEvents): Promise<Fleet> {
  const { directory, nats_url, mongodb_uri, copies, releaseOf } = plan
  const is_one_process = nats_url === undefined
  const settings = await createSystemSettings({
    home: directory,
    nats_url,
    mongodb_uri,
    is_one_process,
    ...(is_one_process ? {} : { hostOf: (role) => nameOfCopies(role, copies(role)) }),
  })
  const placeOf = (name: string, role: RoleName | 'all', variables: Variables): Place =>
    createPlace({ name, role, variables: { ...variables, ...plan.variables } }, directory, events)
  const places = is_one_process
    ? [placeOf('all', 'all', settings.variablesOf('all'))]
    : await Promise.all(
        ROLES.flatMap((role) =>
          Array.from({ length: copies(role) }, async (_, index) => {
            const name = `${role}-${index + 1}`
            const own = await plan.variablesOf?.(name, role)
            return placeOf(name, role, { ...variablesOfCopy(settings, role, hostOfCopy(index)), ...own })
          }),
        ),
      )
  const [operator, payments] = await Promise.all([
    settings.connectAs('backoffice'),
    settings.connectAs('payments'),
  ])
  const end = async (): Promise<void> => {
    operator.close()
    payments.close()
    await Promise.all(places.map((place) => place.kill()))
  }
  try {
    if (mongodb_uri !== undefined) await runToEnd('main.ts', ['migrate'], settings.shared)
    await Promise.all(places.map((place) => place.start(releaseOf?.(place))))
    return { places, settings, operator, payments, end }
  } catch (error) {
    await end()
    throw error
  }
}

function variablesOfCopy(settings: SystemSettings, role: RoleName, host: string): Variables {
  const variables = settings.variablesOf(role)
  const address = `${host}:${variables['MULTIHUB_GRPC_PORT']}`
  return {
    ...variables,
    MULTIHUB_HOST: host,
    ...(role === 'balances' ? { MULTIHUB_BALANCES_SELF_ADDRESS: address } : {}),
  }
}
