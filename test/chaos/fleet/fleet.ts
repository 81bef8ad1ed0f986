import { ROLES, type RoleName } from '#lib/platform/process/role.ts'
import type { Rpc } from '#lib/platform/rpc/rpc.ts'
import { runToEnd } from '../../support/child.ts'
import { createSystemSettings, type SystemSettings, type Variables } from '../../support/system-settings.ts'
import { COPY_HOSTS, copiesOf } from './copies.ts'
import { createPlace, type Place, type PlaceEvents } from './place.ts'

/** The processes of a system, and clients of its RPCs. */
export interface Fleet {
  readonly places: readonly Place[]
  readonly settings: SystemSettings
  readonly operator: Rpc
  readonly payments: Rpc
  /** Kills all processes and closes the clients. */
  end(): Promise<void>
}

/** Where a fleet keeps its state. Without NATS one process has all roles. */
export interface FleetPlan {
  readonly directory: string
  readonly nats_url: string | undefined
  readonly mongodb_uri: string | undefined
}

/** The roles with two processes. The sandbox is the provider, of which there is one. */
const isCopied = (role: RoleName): boolean => role !== 'sandbox'

/** Short limits, so that a run of a minute reaches them: P5, and how long amounts that end in 903 get no response. */
const LIMITS: Variables = {
  MULTIHUB_CREATE_TIMEOUT: '3s',
  MULTIHUB_SANDBOX_SILENCE: '6s',
  MULTIHUB_LOG_LEVEL: 'warn',
}

/** Starts the processes of a system: two for each role but the sandbox, or one with all roles. */
export async function startFleet(
  { directory, nats_url, mongodb_uri }: FleetPlan,
  events: PlaceEvents,
): Promise<Fleet> {
  const is_one_process = nats_url === undefined
  const settings = await createSystemSettings({
    ...{ home: directory, nats_url, mongodb_uri, is_one_process },
    ...(is_one_process ? {} : { hostOf: copiesOf }),
  })
  const places = is_one_process
    ? [
        createPlace(
          { name: 'all', role: 'all', variables: { ...settings.variablesOf('all'), ...LIMITS } },
          directory,
          events,
        ),
      ]
    : ROLES.flatMap((role) =>
        COPY_HOSTS.slice(0, isCopied(role) ? 2 : 1).map((host, index) =>
          createPlace(
            { name: `${role}-${index + 1}`, role, variables: variablesOf(settings, role, host) },
            directory,
            events,
          ),
        ),
      )
  const [operator, payments] = await Promise.all([
    settings.connectAs('operator'),
    settings.connectAs('payments'),
  ])
  const end = async (): Promise<void> => {
    operator.close()
    payments.close()
    await Promise.all(places.map((place) => place.kill()))
  }
  try {
    if (mongodb_uri !== undefined) await runToEnd('main.ts', ['migrate'], settings.shared)
    await Promise.all(places.map((place) => place.start()))
    return { places, settings, operator, payments, end }
  } catch (error) {
    await end()
    throw error
  }
}

function variablesOf(settings: SystemSettings, role: RoleName, host: string): Variables {
  const variables = settings.variablesOf(role)
  return {
    ...variables,
    ...LIMITS,
    MULTIHUB_HOST: host,
    ...(role === 'balances'
      ? { MULTIHUB_BALANCES_SELF_ADDRESS: `${host}:${variables['MULTIHUB_GRPC_PORT']}` }
      : {}),
  }
}
