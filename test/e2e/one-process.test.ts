import { startHere } from '../support/system.ts'
import { attachmentsSuite } from './attachments.suite.ts'
import { depositSuite } from './deposit.suite.ts'
import { resendSuite } from './resend.suite.ts'
import { describeSystem } from './system.suite.ts'
import { withdrawalSuite } from './withdrawal.suite.ts'

describeSystem('everything in one process', () => startHere({ MULTIHUB_SCANNER: 'none' }), [
  withdrawalSuite,
  depositSuite,
  attachmentsSuite,
  resendSuite,
])
