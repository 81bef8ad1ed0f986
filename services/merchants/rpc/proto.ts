import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Environment, environmentFromProto } from '#lib/contract/environment.ts'
import { invalid, missing } from '../domain/check.ts'

/** The instants of a document as RPCs carry them. */
export function timesToProto(document: { readonly created_at: Date; readonly updated_at: Date }): {
  createTime: Timestamp
  updateTime: Timestamp
} {
  return {
    createTime: timestampFromDate(document.created_at),
    updateTime: timestampFromDate(document.updated_at),
  }
}

/** The word whose enum value a request holds. 0 is a field that was left out; others come from newer callers. */
export function wordOf<Word extends string>(
  value: number,
  values: Readonly<Record<Word, number>>,
  path: string,
): Word {
  for (const word in values) if (values[word] === value) return word
  throw value === 0 ? missing(path) : invalid(path, `one of ${Object.keys(values).join(', ')}`)
}

/** The environment of a request, which has to be there. */
export function environmentOf(value: EnvironmentProto, path = 'environment'): Environment {
  const environment = environmentFromProto(value)
  if (environment) return environment
  throw value === 0 ? missing(path) : invalid(path, 'ENVIRONMENT_TEST or ENVIRONMENT_PRODUCTION')
}
