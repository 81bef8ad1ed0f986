import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readKeys } from '#lib/base/config/key-settings.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import {
  type EnvironmentCheck,
  inspectCertificate,
  ok,
  type ServerAddress,
  unreachable,
  withExpiry,
} from '#lib/role/environment-check.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { findRetiredIndexes, openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { mongodbInspection, type ResolveSrv, resolveSrv } from '../../app/connection-certificates.ts'
import type { ProcessConfig } from '../../app/process-settings.ts'
import { databaseOf } from '../../app/roles.ts'
import { checkArchiveFiles } from '../archive/archive-files.ts'
import { retiredText } from '../migrate.ts'

/** Less than the 5 seconds at which a process stops working, so that there is time to act. */
const CLOCK_OFFSET_MAX_MS = 1_000
const FREE_BYTES_MIN = 1e9

/** The checks of the database of each role, and of the files or the certificates of the servers that hold it. */
export async function storeChecks(
  roles: readonly RoleOperations[],
  config: ProcessConfig,
): Promise<readonly EnvironmentCheck[]> {
  const { mongodb_uri, home } = config
  const databases = roles.map((role) => databaseCheck(role, config))
  if (mongodb_uri === undefined) return [filesCheck(home), ...databases]
  return [...databases, ...(await databaseCertificateChecks(mongodb_uri))]
}

/** The database of a role: whether it answers, is complete, has the right time, and was encrypted with these keys. */
function databaseCheck(role: RoleOperations, config: ProcessConfig): EnvironmentCheck {
  const { system_name, mongodb_uri, home, mongodb_connections: connections_max } = config
  const database = databaseOf(system_name, role.name)
  const directory = join(home, 'data')
  return {
    subject: `database ${database}`,
    async run() {
      if (mongodb_uri === undefined && !(await exists(join(directory, database))))
        return ok('made at the first start')
      const store = await openStore({ database, mongodb_uri, connections_max, directory, schema: 'verify' })
      try {
        await role.openCollections(store)
        await role.checkKeys?.(store, readKeys(config, ['credential']))
        await checkArchiveFiles(role, store, config.archive)
        const keys = role.checkKeys === undefined ? '' : 'the keys fit, '
        return ok(`complete, ${keys}${await compareClocks(store)}${await retiredOf(role, config)}`)
      } finally {
        await store.close()
      }
    },
  }
}

/** Names the indexes that no declaration has any more. They cost space and writes, but are not a problem. */
async function retiredOf(role: RoleOperations, { mongodb_uri, system_name }: ProcessConfig): Promise<string> {
  if (mongodb_uri === undefined) return ''
  const database = databaseOf(system_name, role.name)
  const declarations = await readDeclarations(role.openCollections)
  const retired = await findRetiredIndexes({ mongodb_uri, database, declarations })
  return retired.length === 0 ? '' : `, ${retiredText(retired, false)}`
}

async function compareClocks(store: Store): Promise<string> {
  const sent_ms = clock.now_ms()
  const store_ms = (await store.readClock()).getTime()
  const received_ms = clock.now_ms()
  const offset_ms = Math.round((sent_ms + received_ms) / 2 - store_ms)
  if (Math.abs(offset_ms) > CLOCK_OFFSET_MAX_MS + (received_ms - sent_ms) / 2)
    throw new StartError(
      `the clock of this machine differs by ${offset_ms} ms from the database: synchronize both`,
    )
  return `its clock differs by ${offset_ms} ms`
}

/** The directory of the embedded files: whether this user may write there, and whether there is room. */
function filesCheck(home: string): EnvironmentCheck {
  return {
    subject: `directory ${home}`,
    async run() {
      let existing = home
      while (!(await exists(existing))) existing = dirname(existing)
      await access(existing, constants.W_OK)
      const { bavail, bsize } = await statfs(existing)
      if (bavail * bsize < FREE_BYTES_MIN)
        throw new StartError('less than 1 GB is free: make room, because writes fail when the disk is full')
      return ok(`${Math.floor((bavail * bsize) / 1e9)} GB are free`)
    },
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

/**
 * The check of the certificate of each MongoDB server that a URI with TLS names: expired ones are reported with their
 * reason, and those that expire soon are a warning. The servers of `mongodb+srv` share one check, because DNS names them.
 */
export async function databaseCertificateChecks(
  mongodb_uri: Secret,
  resolve: ResolveSrv = resolveSrv,
): Promise<readonly EnvironmentCheck[]> {
  const { readTlsServers } = await import('#lib/store/mongodb/connect.ts')
  const found = readTlsServers(mongodb_uri)
  const { servers, srv_name } = found
  // A file that cannot be read is a finding of each check.
  const inspect = async (server: ServerAddress) => inspectCertificate(server, await mongodbInspection(found))
  const of_servers = servers.map((server) => ({
    subject: `certificate of MongoDB at ${server.host}:${server.port}`,
    run: async () => withExpiry('trusted', 'its', await inspect(server)),
  }))
  if (srv_name === undefined) return of_servers
  const run = async () => {
    const records = await resolve(srv_name).catch((error: unknown) => {
      throw unreachable(srv_name, error, 'correct MONGODB_URI')
    })
    const ends = await Promise.all(
      records.map(({ name: host, port }) =>
        inspect({ host, port }).catch((error: Error) => {
          throw new StartError(`${host}:${port}: ${error.message}`)
        }),
      ),
    )
    const first_end = new Date(Math.min(...ends.map((end) => end.getTime())))
    return withExpiry(`all ${records.length} trusted`, 'the first', first_end)
  }
  return [{ subject: `certificates of MongoDB by ${srv_name}`, run }]
}
