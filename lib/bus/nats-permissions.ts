import { withTimeout } from '#lib/base/time.ts'
import { type NatsConnectionOptions, openPersistentConnection } from './nats-connection.ts'

/** The subjects that a user of NATS may use, as patterns; `undefined` means all of them. */
export interface NatsPermissions {
  readonly publish: readonly string[] | undefined
  readonly subscribe: readonly string[] | undefined
}

/** The subject on which a NATS server tells a connection what its user may do. */
export const USER_INFO_SUBJECT = '$SYS.REQ.USER.INFO'

const LIMIT_MS = 2_000

interface UserInfo {
  readonly data?: {
    readonly permissions?: Readonly<
      Partial<Record<'publish' | 'subscribe', { readonly allow?: readonly string[] }>>
    >
  }
}

/**
 * Asks the server what the user of these options may do. `reply_to` is a subject that the user may subscribe to. `undefined` when
 * there is no answer within 2 s, because the user may not ask or the server is older than 2.10.
 */
export async function readNatsPermissions(
  options: NatsConnectionOptions,
  reply_to: string,
): Promise<NatsPermissions | undefined> {
  const connection = await openPersistentConnection(options, () => {})
  try {
    const { promise: answered, resolve } = Promise.withResolvers<UserInfo>()
    const nats = connection.current()
    nats?.subscribe(reply_to, {
      max: 1,
      callback(error, message) {
        if (error === null) resolve(message.json<UserInfo>())
      },
    })
    nats?.publish(USER_INFO_SUBJECT, '', { reply: reply_to })
    const permissions = (await withTimeout(answered, LIMIT_MS))?.data
    if (permissions === undefined) return undefined
    const { publish, subscribe } = permissions.permissions ?? {}
    return { publish: publish?.allow, subscribe: subscribe?.allow }
  } finally {
    await connection.close()
  }
}
