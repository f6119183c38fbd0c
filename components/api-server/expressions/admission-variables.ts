/** What admission expressions see: the types of their variables, and the values (upstream: admission/plugin/cel/compile.go). */
import { authorizerTypes } from './authorizer-types.ts'
import {
  bool,
  dyn,
  int,
  listOf,
  mapOf,
  string,
  timestamp,
  type CelType,
} from '../../cel/cel-types.ts'

function object(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return { kind: 'object', name: `kubernetes.${name}`, fields }
}

const groupVersionKind = object('GroupVersionKind', {
  group: string,
  version: string,
  kind: string,
})
const groupVersionResource = object('GroupVersionResource', {
  group: string,
  version: string,
  resource: string,
})

const request = object('AdmissionRequest', {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: string,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: object('UserInfo', {
    username: string,
    uid: string,
    groups: listOf(string),
    extra: mapOf(string, listOf(string)),
  }),
  dryRun: bool,
  options: dyn,
})

const namespaceObject = object('Namespace', {
  metadata: object('NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string, string),
    annotations: mapOf(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: listOf(string),
  }),
  spec: object('NamespaceSpec', { finalizers: listOf(string) }),
  status: object('NamespaceStatus', { phase: string }),
})

type Variables = Readonly<Record<string, CelType>>

const always: Variables = { object: dyn, oldObject: dyn, request, namespaceObject }

/** The variables of an expression; `params` only where the policy has any. */
export function admissionVariables(has: {
  readonly params: boolean
  readonly authorizer: boolean
}): Variables {
  return {
    ...always,
    ...(has.params ? { params: dyn } : {}),
    ...(has.authorizer ? authorizerTypes : {}),
  }
}

const emptyTexts = { subResource: '', requestSubResource: '', name: '', namespace: '' }
const nobody = { username: '', uid: '', groups: [], extra: {} }

export type Values = Readonly<Record<string, unknown>>

/** The values of a review's request; without a namespace, which only policies see. */
export function admissionValues(review: Readonly<Record<string, unknown>>): Values {
  const { object: now, oldObject, uid: _, ...rest } = review
  const userInfo = { ...nobody, ...(rest['userInfo'] as object) }
  return {
    object: now,
    oldObject,
    request: { ...emptyTexts, ...rest, userInfo },
    namespaceObject: null,
  }
}
