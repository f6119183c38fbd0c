/** ResourceQuotaConfiguration: resources that cannot be used without a quota (upstream: plugin/resourcequota/apis/resourcequota). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import type { ScopedResourceSelectorRequirement } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { document, list, struct, text } from '../../../machinery/configuration/config-schema.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../../machinery/configuration/read-configuration.ts'
import type { LimitedResource } from './quota-check.ts'

const schema = document('ResourceQuotaConfiguration', {
  limitedResources: list(
    struct('LimitedResource', {
      apiGroup: text,
      resource: text,
      matchContains: list(text),
      matchScopes: list(
        struct('ScopedResourceSelectorRequirement', {
          scopeName: text,
          operator: text,
          values: list(text),
        }),
      ),
    }),
  ),
})

interface RawConfiguration {
  readonly limitedResources?: readonly {
    readonly apiGroup?: string
    readonly resource?: string
    readonly matchContains?: readonly string[]
    readonly matchScopes?: readonly Partial<ScopedResourceSelectorRequirement>[]
  }[]
}

/** Throws ConfigurationError. */
export function parseQuotaConfiguration(
  source: string,
  dialect: Dialect,
): readonly LimitedResource[] {
  const versions = ['v1', 'v1beta1', 'v1alpha1']
  const kind = { kind: 'ResourceQuotaConfiguration', versions, schema }
  const group = apiGroup(dialect, 'apiserver.config')
  const { limitedResources = [] } = readConfiguration<RawConfiguration>(source, { ...kind, group })
  const at = FieldPath.root('limitedResources')
  const limited = limitedResources.map((raw, i) => {
    const { apiGroup: own = '', resource = '', matchContains = [], matchScopes = [] } = raw
    if (resource === '') at.index(i).child('resource').required('')
    const scopes = matchScopes.map(({ scopeName = '', operator = '', values = [] }) => ({
      scopeName,
      operator,
      values,
    }))
    return { apiGroup: own, resource, matchContains, matchScopes: scopes }
  })
  refuseFieldErrors(at.errors)
  return limited
}
