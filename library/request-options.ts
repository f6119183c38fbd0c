/** Arguments of clients, checked at the door. A name that is missing would turn a request for one object into one for all. */
import { plain } from '../cluster/shape.ts'
import { optional } from '../cluster/shape.ts'
import {
  anyObject,
  checkedBy,
  dictionary,
  flag,
  oneOf,
  options,
  signal,
  text,
  whole,
  word,
} from './option-shapes.ts'
import type { KubernetesObject } from './types.ts'

const subresource = optional(
  plain('a name such as status or scale', (value) =>
    typeof value === 'string' && /^[a-z]+$/.test(value) ? value : undefined,
  ),
)
const kindFields = { kind: word, apiVersion: optional(word) }
const reference = options('an object', { ...kindFields, name: word, namespace: optional(word) })
const selection = options('an object', {
  ...kindFields,
  namespace: optional(word),
  labelSelector: optional(text),
  fieldSelector: optional(text),
})
const metadata = options('an object', {
  kind: word,
  apiVersion: optional(word),
  metadata: optional(anyObject),
})

const writeFields = {
  subresource,
  dryRun: optional(flag),
  fieldManager: optional(word),
  signal: optional(signal),
}
const seconds = whole(0, 2 ** 31 - 1)

export const requestShapes = {
  reference,
  selection,
  read: options('an object', { subresource, signal: optional(signal) }),
  signalOnly: options('an object', { signal: optional(signal) }),
  write: options('an object', writeFields),
  apply: options('an object', { ...writeFields, force: optional(flag) }),
  patch: options('an object', {
    ...writeFields,
    force: optional(flag),
    type: oneOf('json', 'merge', 'strategic', 'apply'),
  }),
  delete: options('an object', {
    gracePeriodSeconds: optional(seconds),
    propagationPolicy: optional(oneOf('Orphan', 'Background', 'Foreground')),
    signal: optional(signal),
  }),
  request: options('an object', {
    method: word,
    path: plain('a path that begins with /', (value) =>
      typeof value === 'string' && value.startsWith('/') ? value : undefined,
    ),
    body: optional({ ...anyObject, check: (value) => value }),
    contentType: optional(word),
    headers: optional(dictionary('an object of headers', text)),
    signal: optional(signal),
  }),
} as const

/** An object to write: it names its kind, and where `needsName` itself. Throws an OptionError. */
export function checkObject(
  door: string,
  value: unknown,
  { needsName }: { readonly needsName: boolean },
): KubernetesObject & { readonly kind: string } {
  const { kind, apiVersion, metadata: given = {} } = (value ?? {}) as KubernetesObject
  const isObject = typeof value === 'object' && value !== null
  checkedBy(
    metadata,
    `${door}: the object`,
    isObject ? { kind, apiVersion, metadata: given } : value,
  )
  if (needsName)
    checkedBy(options('an object', { name: word }), `${door}: metadata`, { name: given.name })
  return value as KubernetesObject & { readonly kind: string }
}
