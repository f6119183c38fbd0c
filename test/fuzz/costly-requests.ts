/** Requests that cost as much as their bodies can be made to: every verb, encoding and patch type. */
import { schemaOf } from '../../components/api/schemas.ts'
import { cborBody } from '../../components/api-server/encoding/cbor.ts'
import { protobufBody } from '../../components/api-server/encoding/protobuf-form.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { configMapBodies, reviewBodies, subjectReviewBodies, type Made } from './costly-bodies.ts'
import { bigData, patches } from './costly-patches.ts'
import { yamlBodies } from './costly-yaml.ts'

export interface CostlyRequest {
  readonly what: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the namespace, or from the root if it begins with a slash. */
  readonly path: string
  readonly type: string
  readonly accept?: string
  /** A body of about so many bytes. */
  body(bytes: number): string | Buffer
  /** The object that the request works on, made before; `bytes` as for the body. */
  on?(bytes: number): { path: string; body: unknown }
}

const made = (
  bodies: readonly Made[],
  to: { encoding: string; path: string; type: string; query?: string },
): CostlyRequest[] =>
  bodies.map(([what, body]) => ({
    what: `${to.encoding}: ${what}`,
    method: 'POST',
    path: `${to.path}?${to.query ?? 'dryRun=All&fieldValidation=Warn'}`,
    type: to.type,
    body,
  }))

/** The same bodies in the other encodings and to the other verbs; they must be JSON of a ConfigMap. */
const everywhere = [
  'keys',
  'labels',
  'finalizers',
  'owner references',
  'managers',
  'a manager with many fields',
  'managed elements by key',
]

const parsed = (body: string): KubeObject => {
  const value = JSON.parse(body) as KubeObject
  return { ...value, metadata: { ...value.metadata, name: 'big' } }
}
const protobuf = (body: string): Buffer =>
  protobufBody(schemaOf('core/v1.ConfigMap'), parsed(body), { apiVersion: 'v1', kind: 'ConfigMap' })

const otherBodies: readonly CostlyRequest[] = configMapBodies
  .filter(([what]) => everywhere.includes(what))
  .flatMap(([what, body]): CostlyRequest[] => [
    {
      what: `protobuf: ${what}`,
      method: 'POST',
      path: 'configmaps?dryRun=All',
      type: 'application/vnd.kubernetes.protobuf',
      body: (bytes) => protobuf(body(bytes)),
    },
    {
      what: `CBOR: ${what}`,
      method: 'POST',
      path: 'configmaps?dryRun=All',
      type: 'application/cbor',
      body: (bytes) => cborBody(parsed(body(bytes)), undefined),
    },
    {
      what: `apply of CBOR: ${what}`,
      method: 'PATCH',
      path: 'configmaps/big?dryRun=All&fieldManager=m&force=true',
      type: 'application/apply-patch+cbor',
      on: bigData,
      body: (bytes) => cborBody(parsed(body(bytes)), undefined),
    },
    {
      what: `PUT: ${what}`,
      method: 'PUT',
      path: 'configmaps/big?dryRun=All&fieldValidation=Strict',
      type: 'application/json',
      on: bigData,
      body: (bytes) => JSON.stringify(parsed(body(bytes))),
    },
    {
      what: `DELETE: ${what}`,
      method: 'DELETE',
      path: 'configmaps/big?dryRun=All',
      type: 'application/json',
      on: bigData,
      body: (bytes) => body(bytes).replace('ConfigMap', 'DeleteOptions'),
    },
  ])

const answers: readonly CostlyRequest[] = [
  'application/json',
  'application/yaml',
  'application/cbor',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
].map((accept) => ({
  what: `GET: ${accept}`,
  method: 'GET',
  path: 'configmaps/big',
  type: 'application/json',
  accept,
  on: bigData,
  body: () => '',
}))

/** Selectors are as long as a request's head may be. */
const selectors: readonly CostlyRequest[] = [
  'labelSelector=',
  'fieldSelector=',
  'limit=1&continue=',
  'resourceVersion=',
].flatMap((name) =>
  ['a,', '!a,', 'a in (b),', '(', 'a=b,', '1', '\\\\'].map((part) => ({
    what: `GET: ${name} of ${part}`,
    method: 'GET',
    path: `configmaps?${name}${encodeURIComponent(part).repeat(500)}`,
    type: 'application/json',
    body: () => '',
  })),
)

/** YAML is read by the same code whatever it is for. */
export const appliesOfYaml: readonly CostlyRequest[] = yamlBodies.map(([what, body]) => ({
  what: `apply of YAML: ${what}`,
  method: 'PATCH',
  path: 'configmaps/x?dryRun=All&fieldManager=m',
  type: 'application/apply-patch+yaml',
  body,
}))

export const costlyRequests: readonly CostlyRequest[] = [
  ...otherBodies,
  ...answers,
  ...selectors,
  ...made(configMapBodies, { encoding: 'JSON', path: 'configmaps', type: 'application/json' }),
  ...made(yamlBodies, { encoding: 'YAML', path: 'configmaps', type: 'application/yaml' }),
  ...made(reviewBodies, {
    encoding: 'review',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    type: 'application/json',
    query: '',
  }),
  ...made(subjectReviewBodies, {
    encoding: 'review',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    type: 'application/json',
    query: '',
  }),
  ...patches.map(([what, type, on, body]): CostlyRequest => ({
    what: `${type}: ${what}`,
    method: 'PATCH',
    path: `${on(1).path.split(/[/?]/)[0]}/big?dryRun=All&fieldManager=m${type.startsWith('apply') ? '&force=true' : ''}`,
    type: `application/${type}`,
    on,
    body,
  })),
]
