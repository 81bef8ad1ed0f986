import { test } from '@jest/globals'
import { mongodbForTests, natsForTests } from '../support/servers.ts'
import { startProcessPerRole } from '../support/system.ts'
import { gatewaysSuite } from './gateways.suite.ts'

const nats = await natsForTests()
const mongodb = await mongodbForTests()

if ('skip' in nats) test.skip(`two gateways: ${nats.skip}`, () => {})
else
  gatewaysSuite('embedded stores', () => startProcessPerRole(nats.url, undefined, { second_gateway: true }))

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`two gateways on MongoDB: ${reason}`, () => {})
} else {
  gatewaysSuite('MongoDB', () => startProcessPerRole(nats.url, mongodb.uri, { second_gateway: true }))
}
