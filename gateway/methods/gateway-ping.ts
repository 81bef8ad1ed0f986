import { record } from '#lib/contract/view.ts'
import { described, ignored, notApplicable, object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { METHOD } from './request-fields.ts'

/** `gateway.ping`: lets a merchant check its signature. It calls no service. */
export const gatewayPing = defineMethod({
  name: 'gateway.ping',
  refusals: [],
  summary: 'Checks your signature',
  description: 'Answers at once and changes nothing.',
  example: { params: {} },
  request: object({
    method: METHOD,
    // Not even checked: the rules of E5 for texts hold only for texts that are read.
    service_id: described('Ignored.', ignored()),
    operation_id: notApplicable(),
    params: object({}),
  }),
  result: record({ message: { type: 'string', const: 'pong' } }),
  createHandler: () => () => ({ message: 'pong' }),
})
