import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Environment, environmentFromProto } from '#lib/contract/environment.ts'
import { invalid, missing } from '../domain/field-checks.ts'

/** Maps the timestamps of a document. */
export function timesToProto(document: { readonly created_at: Date; readonly updated_at: Date }): {
  createTime: Timestamp
  updateTime: Timestamp
} {
  return {
    createTime: timestampFromDate(document.created_at),
    updateTime: timestampFromDate(document.updated_at),
  }
}

/** Maps an enum value to our word. Refuses 0, a missing field, with 1005 and a value that is not ours with 9000. */
export function wordOf<Word extends string>(
  value: number,
  values: Readonly<Record<Word, number>>,
  path: string,
): Word {
  for (const word in values) if (values[word] === value) return word
  throw value === 0 ? missing(path) : invalid(path, `one of ${Object.keys(values).join(', ')}`)
}

/** Maps the environment of a request. Refuses a missing one with 1005. */
export function environmentOf(value: EnvironmentProto, path = 'environment'): Environment {
  const environment = environmentFromProto(value)
  if (environment) return environment
  throw value === 0 ? missing(path) : invalid(path, 'ENVIRONMENT_TEST or ENVIRONMENT_PRODUCTION')
}
