import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ROLES } from '#lib/role/role.ts'
import { launch, runToEnd, type SystemProcess, startProcess } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { grpcHealth, NOT_SERVING, SERVING } from '../support/grpc-health.ts'
import { mongodbForTests, natsForTests } from '../support/servers.ts'

const nats = await natsForTests()
const mongodb = await mongodbForTests()

/** Status and text of `/readyz`; `undefined` while the process does not listen yet. */
async function readiness(port: number): Promise<readonly [number, string] | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`)
    return [response.status, await response.text()]
  } catch {
    return undefined
  }
}

/** The value of `multihub_ready` of balances; `undefined` while the process does not show it. */
async function readyMetric(port: number): Promise<string | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return /^multihub_ready\{role="balances"\} (\d)$/m.exec(text)?.[1]
}

/** Calls Adjust of a balances process as the operator, and returns the HTTP status. */
async function adjust(connect_port: number, token: string, operation_id: string): Promise<number> {
  const response = await fetch(
    `http://127.0.0.1:${connect_port}/multihub.balances.v1.BalanceService/Adjust`,
    {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({
        merchantId: '1000',
        environment: 'ENVIRONMENT_TEST',
        currency: 'INR',
        amount: { minor: '1', currency: 'INR' },
        reason: 'test',
        operationId: operation_id,
      }),
    },
  )
  await response.body?.cancel()
  return response.status
}

async function dropDatabases(uri: string, system_name: string): Promise<void> {
  const client = new MongoClient(uri)
  for (const role of ROLES) await client.db(`${system_name}_${role}`).dropDatabase()
  await client.close()
}

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`a process whose clock is wrong: ${reason}`, () => {})
} else {
  test('only the process whose clock is one hour ahead is unready and decides nothing, until it is corrected', async () => {
    const system_name = `clock_${randomHex(4)}`
    const token = randomHex(32)
    const master_keys = `test:${randomHex(32)}`
    const portsOf = async () => ({
      grpc: await freePort(),
      connect: await freePort(),
      health: await freePort(),
    })
    const [correct_ports, wrong_ports] = [await portsOf(), await portsOf()]
    const variablesOf = ({ grpc, connect, health }: typeof correct_ports) => ({
      MULTIHUB_SYSTEM_NAME: system_name,
      MULTIHUB_MASTER_KEYS: master_keys,
      MULTIHUB_RPC_CALLERS: `backoffice:${sha256Hex(token)}`,
      MULTIHUB_GRPC_PORT: `${grpc}`,
      MULTIHUB_CONNECT_PORT: `${connect}`,
      MULTIHUB_HEALTH_PORT: `${health}`,
      MONGODB_URI: mongodb.uri,
      NATS_URL: nats.url,
    })
    let wrong: SystemProcess | undefined
    let correct: SystemProcess | undefined
    try {
      await runToEnd('main.ts', ['migrate'], variablesOf(correct_ports))
      wrong = launch('test/e2e/wrong-clock.child.ts', ['balances'], variablesOf(wrong_ports))
      correct = await startProcess('main.ts', ['balances'], variablesOf(correct_ports))
      const [status, text] = await eventually(
        async () => (await readiness(wrong_ports.health)) ?? [0, ''],
        (answer) => answer?.[1].includes('clock (') === true,
      )
      expect(status).toBe(503)
      expect(text).toMatch(
        /clock \(the clock of this process is 3[56]\d{5} ms ahead of the clock of the store;/,
      )
      const isServing = (ports: typeof correct_ports, operation_id: string) =>
        eventually(
          () => adjust(ports.connect, token, operation_id).catch(() => 0),
          (answer) => answer !== 0,
        )
      expect(await isServing(wrong_ports, 'a')).toBe(503)
      expect(await isServing(correct_ports, 'b')).toBe(200)
      expect(await readiness(correct_ports.health)).toEqual([200, 'ready\n'])
      expect(await readyMetric(correct_ports.health)).toBe('1')
      expect(await readyMetric(wrong_ports.health)).toBe('0')
      expect(await grpcHealth(`http://127.0.0.1:${correct_ports.grpc}`, LedgerService.typeName)).toBe(SERVING)
      expect(await grpcHealth(`http://127.0.0.1:${wrong_ports.grpc}`, LedgerService.typeName)).toBe(
        NOT_SERVING,
      )

      wrong.child.kill('SIGUSR2')
      await eventually(
        async () => (await readiness(wrong_ports.health))?.[0],
        (answer) => answer === 200,
      )
      expect(await isServing(wrong_ports, 'a')).toBe(200)
      expect(await readyMetric(wrong_ports.health)).toBe('1')
    } finally {
      await wrong?.kill()
      await correct?.kill()
      await dropDatabases(mongodb.uri, system_name)
      await mongodb.stop()
      await nats.stop()
    }
  })
}
