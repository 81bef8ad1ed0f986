import { startProcessPerRole } from '../support/system.ts'
import { attachmentsSuite } from './attachments.suite.ts'
import { depositSuite } from './deposit.suite.ts'
import { gatewaysSuite } from './gateways.suite.ts'
import { notifierOutageSuite, resendSuite } from './resend.suite.ts'
import { describeSystem } from './system.suite.ts'
import { withdrawalSuite } from './withdrawal.suite.ts'

/**
 * Runs each `SystemSuite` against one process per role and a second gateway, on MongoDB or, without a URI, on embedded
 * stores.
 */
export function processPerRoleSuite(name: string, nats_url: string, mongodb_uri?: string): void {
  const options = { second_gateway: true, variables: { MULTIHUB_SCANNER: 'none' } } as const
  describeSystem(name, () => startProcessPerRole(nats_url, mongodb_uri, options), [
    withdrawalSuite,
    depositSuite,
    attachmentsSuite,
    resendSuite,
    notifierOutageSuite,
    gatewaysSuite,
  ])
}
