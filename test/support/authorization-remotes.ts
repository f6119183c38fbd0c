/** Servers whose authorization asks remote services, and users nobody has asked about yet. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import { parseAuthorizationConfiguration } from '../../components/api-server/authz/configuration/authorization-configuration.ts'
import { startApiServer, type ApiServerSetup, type TestApiServer } from './api-server.ts'
import {
  startReviewRemote,
  type AskedReview,
  type RemoteAnswer,
  type ReviewRemote,
} from './review-remote.ts'
import { temporaryFolder } from './temporary-folder.ts'

export type Json = Record<string, unknown>

/** Set by `useRemotes`. */
export let remote: ReviewRemote
/** Another one. */
export let second: ReviewRemote
export let folder: string
let files = 0
/** For the top of a test file: the remotes of its tests, which refuse everything before each test, and the folder. */
export function useRemotes(): void {
  beforeAll(async () => {
    remote = await startReviewRemote()
    second = await startReviewRemote()
    folder = temporaryFolder('authz-webhook')
  })
  afterAll(async () => {
    await remote[Symbol.asyncDispose]()
    await second[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    remote.answer = () => ({ status: { allowed: false } })
    second.answer = () => ({ status: { allowed: false } })
  })
}

export const allow: RemoteAnswer = { status: { allowed: true } }
export const deny: RemoteAnswer = { status: { allowed: false, denied: true, reason: 'no way' } }
export const pass: RemoteAnswer = { status: { allowed: false, reason: 'not mine' } }

/** One webhook of a configuration file. */
export function webhook(more: Json = {}, of: ReviewRemote = remote): Json {
  return {
    timeout: '3s',
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy: 'NoOpinion',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: of.kubeconfig(folder) },
    ...more,
  }
}

export const entry = (name: string, more?: Json, of?: ReviewRemote): Json => ({
  type: 'Webhook',
  name,
  webhook: webhook(more, of),
})

export function whole(authorizers: unknown, dialect: 'kubernetes' | 'svc' = 'kubernetes'): string {
  const apiVersion = `${apiGroup(dialects[dialect], 'apiserver.config')}/v1`
  return JSON.stringify({ apiVersion, kind: 'AuthorizationConfiguration', authorizers })
}

export function fileOf(text: string): string {
  files += 1
  const path = join(folder, `authorization-${files}.yaml`)
  writeFileSync(path, text)
  return path
}

/** A server whose authorization is the file's. */
export async function start(
  authorizers: unknown,
  setup: ApiServerSetup = {},
): Promise<TestApiServer> {
  const path = fileOf(whole(authorizers, setup.dialect))
  const flags = ['--authorization-mode=', `--authorization-config=${path}`, ...(setup.flags ?? [])]
  return await startApiServer({ ...setup, flags })
}

export async function refusedStart(flags: readonly string[]): Promise<string> {
  return await startApiServer({ flags }).then(
    async (server) => {
      await server[Symbol.asyncDispose]()
      return 'started'
    },
    (error: unknown) => (error as Error).message,
  )
}

let users = 0
/** A user nobody has asked about yet, so that no answer is known. */
export const fresh = (): string => `user-${(users += 1)}`
export const askedOf = (name: string, of: ReviewRemote = remote): AskedReview[] =>
  of.asked.filter(({ spec }) => (spec as { user?: string }).user === name)

export const pods = '/api/v1/namespaces/default/pods'

/** A user whom RBAC lets read pods; made by the admin. */
export async function bound(server: TestApiServer): Promise<string> {
  const name = fresh()
  const rbac = `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`
  await server.ok('POST', rbac, {
    body: {
      metadata: { name: `bind-${name}` },
      roleRef: { apiGroup: server.group('rbac.authorization'), kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name, apiGroup: server.group('rbac.authorization') }],
    },
  })
  // `view` gets its rules from an aggregation that no controller does here.
  const view = `/apis/${server.group('rbac.authorization')}/v1/clusterroles/view`
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }]
  await server.ok('PATCH', view, {
    body: { rules, aggregationRule: null },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  return name
}

/** The message with which a webhook of these fields is refused. */
export function refused(more: Json): string {
  return refusal([entry('remote', more)])
}

/** The message with which these authorizers, or this file, are refused; or `accepted`. */
export function refusal(authorizers: unknown, text = whole(authorizers)): string {
  try {
    parseAuthorizationConfiguration(text, dialects.kubernetes)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}
