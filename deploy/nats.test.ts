import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { createMessageCheck } from '#lib/bus/authentication.ts'
import type { Bus, Message } from '#lib/bus/bus.ts'
import { parseNatsUrl } from '#lib/bus/nats-connection.ts'
import { readNatsPermissions } from '#lib/bus/nats-permissions.ts'
import { openBus } from '#lib/bus/open.ts'
import { eventSubject, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { RECEIPTS_SUBJECT } from '#lib/patterns/effects/publish-on-bus.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/registry-cache/change-watch.ts'
import { ROLES, ROLES_WITHOUT_BUS } from '#lib/role/role.ts'
import type { ProcessConfig } from '../app/process-settings.ts'
import { covers, permissionProblems } from '../operations/doctor/bus-permissions.ts'
import { busChecks } from '../operations/doctor/connection-checks.ts'
import { WAKE_SUBJECT } from '../services/notifier/pipeline/assignment.ts'
import { eventually } from '../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../test/support/hang-limit.ts'
import { startPrivateNats } from '../test/support/servers.ts'

const ROLES_OF_NATS = ROLES.filter((role) => !ROLES_WITHOUT_BUS.includes(role))
const RECEIPTS = `${RECEIPTS_SUBJECT}.0123456789abcdef`
const WAKE = `${WAKE_SUBJECT}.0123456789abcdef`
/** What each role sends and receives, as its code does. */
const SENT: Readonly<Record<string, readonly string[]>> = {
  payments: PAYMENT_EVENTS.map(eventSubject),
  support: SUPPORT_EVENTS.map(eventSubject),
  notifier: [RECEIPTS, WAKE],
  merchants: [CHANGES_SUBJECT],
}
const RECEIVED: Readonly<Record<string, readonly string[]>> = {
  payments: [RECEIPTS, CHANGES_SUBJECT],
  support: [RECEIPTS],
  notifier: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS].map(eventSubject).concat(CHANGES_SUBJECT, WAKE),
  gateway: [CHANGES_SUBJECT],
}
const SUBJECTS = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS]
  .map(eventSubject)
  .concat(RECEIPTS, CHANGES_SUBJECT, WAKE)

/** The subjects of each user in the file. */
function permissionsIn(config: string): ReadonlyMap<string, { publish: string[]; subscribe: string[] }> {
  const subjects = (text: string | undefined) =>
    [...(text ?? '').matchAll(/"([^"]+)"/g)].map(([, one]) => one ?? '')
  const users = config.matchAll(
    /user: (\w+),[^{]*permissions: \{\s*publish: \[([^\]]*)\],?\s*subscribe: \[([^\]]*)\]/g,
  )
  return new Map(
    [...users].map(([, name = '', publish, subscribe]) => [
      name,
      { publish: subjects(publish), subscribe: subjects(subscribe) },
    ]),
  )
}

// O10
test('the file gives each role the subjects that doctor expects of it, and that its code uses, and no other', () => {
  const users = permissionsIn(readFileSync('deploy/nats.conf', 'utf8'))
  expect([...users.keys()].sort()).toEqual(ROLES_OF_NATS.toSorted())
  for (const role of ROLES_OF_NATS) {
    const permissions = users.get(role) ?? { publish: [], subscribe: [] }
    expect([role, permissionProblems(permissions, [role], 'multihub')]).toEqual([role, []])
    const covered = (patterns: readonly string[]) =>
      SUBJECTS.filter((subject) => patterns.some((pattern) => covers(pattern, `multihub.${subject}`)))
    expect([role, covered(permissions.publish).sort()]).toEqual([role, (SENT[role] ?? []).toSorted()])
    expect([role, covered(permissions.subscribe).sort()]).toEqual([role, (RECEIVED[role] ?? []).toSorted()])
  }
})

const server_config = readFileSync('deploy/nats.conf', 'utf8').replaceAll(
  /\$NATS_PASSWORD_([A-Z]+)/g,
  (_, role: string) => `p${role}`,
)
const nats = await startPrivateNats(server_config)
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
})

if ('skip' in nats) {
  process.stderr.write(`skipped: the users of NATS: ${nats.skip}\n`)
  test.skip(`the users of NATS: ${nats.skip}`, () => {})
} else {
  const connect = (role: string): Promise<Bus> => {
    const url = nats.url.replace('nats://', `nats://${role}:p${role.toUpperCase()}@`)
    return openBus({
      nats_url: new Secret(url),
      name: role,
      prefix: 'multihub',
      start_wait: { limit_ms: HANG_LIMIT_MS },
    })
  }

  // O10
  test('each role sends and receives what its code does, and nothing else arrives', async () => {
    const buses = await Promise.all(ROLES_OF_NATS.map(async (role) => [role, await connect(role)] as const))
    const arrived = new Set<string>()
    for (const [receiver, bus] of buses)
      for (const subject of SUBJECTS)
        await bus
          .subscribe(
            subject,
            ({ data }) => void arrived.add(`${Buffer.from(data)} -> ${receiver}: ${subject}`),
          )
          .catch(() => {})
    for (const [sender, bus] of buses)
      for (const subject of SUBJECTS) await bus.publish(subject, Buffer.from(sender)).catch(() => {})
    const expected = SUBJECTS.flatMap((subject) =>
      ROLES_OF_NATS.filter((role) => SENT[role]?.includes(subject)).flatMap((sender) =>
        ROLES_OF_NATS.filter((role) => RECEIVED[role]?.includes(subject)).map(
          (receiver) => `${sender} -> ${receiver}: ${subject}`,
        ),
      ),
    )
    await eventually(
      async () => arrived.size,
      (size) => (size ?? 0) >= expected.length,
    )
    await Promise.all(buses.map(([, bus]) => bus.close()))
    expect([...arrived].sort()).toEqual(expected.sort())
    expect(expected.length).toBeGreaterThan(15)
  })

  test('doctor is content with the user of each role', async () => {
    for (const role of ROLES_OF_NATS) {
      const nats_url = new Secret(nats.url.replace('nats://', `nats://${role}:p${role.toUpperCase()}@`))
      const [check] = busChecks({ nats_url, system_name: 'multihub' } as ProcessConfig, [role])
      expect(await check?.run()).toMatchObject({ text: 'carries messages' })
    }
  })

  // O10
  test('doctor names what a user may do more, or less, than its role needs', async () => {
    const nats_url = new Secret(nats.url.replace('nats://', 'nats://notifier:pNOTIFIER@'))
    const [check] = busChecks({ nats_url, system_name: 'multihub' } as ProcessConfig, ['support'])
    const finding = await check?.run()
    expect(finding).toMatchObject({ status: 'warning' })
    expect(finding?.text).toContain('may also publish to multihub.notifier.wake.*, multihub.receipts.*;')
    expect(finding?.text).toContain('may not publish to multihub.events.ticket.>')
    expect(finding?.text).toContain('may also subscribe to multihub.events.>')
  })

  // O10: every user may ask the server, and name a subject of another role for its answer.
  test('an answer of the server on the subject of another role is not authentic', async () => {
    const notifier = await connect('notifier')
    const arrived = Promise.withResolvers<Message>()
    await notifier.subscribe(eventSubject('payment.completed'), arrived.resolve)
    const nats_url = new Secret(nats.url.replace('nats://', 'nats://attachments:pATTACHMENTS@'))
    const options = {
      name: 'attachments',
      address: parseNatsUrl(nats_url),
      start_wait: { limit_ms: 0 },
      security: {},
    }
    const asked = readNatsPermissions(options, `multihub.${eventSubject('payment.completed')}`)
    expect(createMessageCheck('event', 'require')(await arrived.promise, testKeys().event_payments)).toBe(
      false,
    )
    expect(await asked).toBeUndefined()
    await notifier.close()
  })

  test('a user without a password, or the sandbox, is refused', async () => {
    for (const user of ['', 'payments:@', 'sandbox:pSANDBOX@'])
      await expect(
        openBus({
          nats_url: new Secret(nats.url.replace('nats://', `nats://${user}`)),
          name: 'x',
          prefix: 'multihub',
        }),
      ).rejects.toThrow()
  })
}
