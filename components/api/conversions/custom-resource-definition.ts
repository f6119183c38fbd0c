/** CustomResourceDefinitions of v1beta1 (upstream: apiextensions-apiserver pkg/apis/apiextensions/v1beta1 and v1). */
import type { KubeObject } from '../../machinery/objects/object.ts'

type Fields = Readonly<Record<string, unknown>>

function columnsFrom(value: unknown): unknown {
  if (!Array.isArray(value)) return undefined
  return value.map(({ JSONPath, ...column }: Fields) => ({ ...column, jsonPath: JSONPath }))
}

function conversionFrom(value: unknown): Fields {
  const { strategy, webhookClientConfig, conversionReviewVersions } = (value ?? {}) as Fields
  if (strategy !== 'Webhook') return { strategy: 'None' }
  return {
    strategy,
    webhook: {
      clientConfig: webhookClientConfig,
      conversionReviewVersions: conversionReviewVersions ?? ['v1beta1'],
    },
  }
}

/** Copies the fields that the spec has for all versions into each version. */
export function customResourceDefinitionFromV1beta1(object: KubeObject): KubeObject {
  const {
    version,
    versions,
    validation,
    subresources,
    additionalPrinterColumns,
    conversion,
    ...spec
  } = (object['spec'] ?? {}) as Fields
  const listed =
    Array.isArray(versions) && versions.length > 0
      ? (versions as Fields[])
      : [{ name: version, served: true, storage: true }]
  return {
    ...object,
    spec: {
      scope: 'Namespaced',
      preserveUnknownFields: true,
      ...spec,
      conversion: conversionFrom(conversion),
      versions: listed.map((one: Fields) => ({
        ...one,
        schema: one['schema'] ?? validation,
        subresources: one['subresources'] ?? subresources,
        additionalPrinterColumns: columnsFrom(
          one['additionalPrinterColumns'] ?? additionalPrinterColumns,
        ),
      })),
    },
  }
}
