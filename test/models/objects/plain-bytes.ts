/** The model of stored bytes: one call of JSON, with kind and apiVersion first, and of the metadata what identifies the object. */
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

export function plainBytes({ kind, apiVersion, metadata, ...rest }: KubeObject): string {
  const { name, generateName, namespace, uid, ...others } = metadata
  const first = {
    name,
    generateName: generateName || undefined,
    namespace: namespace || undefined,
    uid,
    resourceVersion: '',
  }
  const inOrder = { ...first, ...others, resourceVersion: '' }
  return `${JSON.stringify({ kind, apiVersion, metadata: inOrder, ...rest })}\n`
}
