/** How tests ask for objects in a representation and read what they get. */
import { expect } from 'vitest'
import { schemaOf } from '../../components/api/schemas.ts'
import { decode } from '../../components/machinery/schema/decode.ts'
import { readProtobuf } from '../../components/machinery/protobuf/protobuf-reader.ts'
import type { Reply, TestApiServer } from './api-server.ts'
import { eventually } from './eventually.ts'

/** The schema of a built-in kind by its path: `/apis/batch/v1/...` -> `batch/v1.Job`. */
export function schemaFor(path: string, kind: string) {
  const [, root, group = '', version = ''] = path.split('/')
  return schemaOf(root === 'api' ? `core/${group}.${kind}` : `${stemOf(group)}/${version}.${kind}`)
}

const stems: Record<string, string> = {
  'rbac.authorization': 'rbac',
  'internal.apiserver': 'apiserverinternal',
  apiregistration: 'apiregistration',
}

function stemOf(group: string): string {
  const stem = group.replace(/\.(?:k8s|svc)\.io$/, '')
  return stems[stem] ?? stem.split('.')[0] ?? stem
}

/** An object from its message, as its JSON form is. */
export function fromMessage(schema: ReturnType<typeof schemaOf>, raw: Buffer): unknown {
  return decode(readProtobuf(schema, raw), schema).object
}

/** The object once nothing in the server writes to it any more. */
export async function settled(server: TestApiServer, item: string): Promise<Reply['body']> {
  const isPolicy = item.includes('/validatingadmissionpolicies/')
  if (!isPolicy && !item.includes('/flowschemas/')) return await server.ok('GET', item)
  return await eventually(async () => {
    const object = await server.ok('GET', item)
    if (isPolicy) expect(object.status.observedGeneration).toBe(object.metadata.generation)
    else expect(object.status.conditions).toHaveLength(1)
    return object as unknown
  })
}

/** Objects inside of objects have no kind and apiVersion in protobuf. */
export function withoutInnerTypes(object: Reply['body']): Reply['body'] {
  const copy = structuredClone(object)
  for (const claim of copy.spec?.volumeClaimTemplates ?? []) {
    delete claim.kind
    delete claim.apiVersion
  }
  return copy
}

export async function get(server: TestApiServer, path: string, accept: string): Promise<Reply> {
  return await server.request('GET', path, { headers: { accept } })
}

/** What bodies of these tests hold. */
export const configMap = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'c' },
  data: { a: 'b' },
}
