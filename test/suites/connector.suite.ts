import { afterAll, beforeAll, describe } from '@jest/globals'
import type { Capabilities, Connector } from '../../services/payments/connectors/connector.ts'
import { callbackSuite } from './connector-callbacks.suite.ts'
import { outcomeSuite } from './connector-outcomes.suite.ts'
import { wireSuite } from './connector-wire.suite.ts'

/**
 * A connector with a provider that works, a real HTTP server. The provider acts by the last three digits of an amount in
 * minor units, as the sandbox does (docs/provider-protocol.md), in its own protocol.
 */
export interface ConnectorUnderTest {
  /** Connected to the provider. */
  readonly connector: Connector
  /** Connects an account of the same kind to another address. */
  connectTo(base_url: string): Connector
  stop(): Promise<void>
}

/** Gives the tests of each part what they run against, when they run. */
export type ReadConnector = () => ConnectorUnderTest

/**
 * What every connector must do, as far as its capabilities go: outcomes, amounts, methods, keys and lookups against a
 * provider that works; failures on the wire, each judged by what happened there (P4); and callbacks.
 */
export function connectorSuite(
  name: string,
  capabilities: Capabilities,
  start: () => Promise<ConnectorUnderTest>,
): void {
  describe(`the ${name} connector`, () => {
    let under_test: ConnectorUnderTest
    beforeAll(async () => {
      under_test = await start()
    })
    afterAll(() => under_test.stop())

    const read: ReadConnector = () => under_test
    outcomeSuite(capabilities, read)
    wireSuite(read)
    callbackSuite(capabilities, read)
  })
}
