import { EnvironmentSchema } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { wordOf } from '../values/filter-tokens.ts'
import type { FormField } from './fields.ts'

/** The choice among the environments of a merchant. */
export function environmentField({ environments }: Pick<Merchant, 'environments'>): FormField {
  return {
    name: 'environment',
    choices: environments.map((environment) => wordOf(EnvironmentSchema, environment)),
  }
}
