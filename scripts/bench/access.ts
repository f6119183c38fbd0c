/**
 * The cost of authentication and authorization: compares gets by each method under each authorizer with anonymous gets under
 * AlwaysAllow that carry as many header bytes. Short alternating slices, measured by processor time per request, so that other
 * load disturbs both alike.
 */
import { writeFileSync } from 'node:fs'
import { resourcesOf } from '../../components/api/resources.ts'
import { dialects } from '../../components/api/dialect.ts'
import { encodeForStore } from '../../components/api-server/watch-cache/object-bytes.ts'
import { storeKey } from '../../components/api-server/watch-cache/store-keys.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import { startReviewRemote } from '../../test/support/review-remote.ts'
import { startIssuerHost } from '../../test/support/token-issuer.ts'
import { measureDecisions } from './decisions.ts'
import { exchange, openLoad, openSession, type Endpoint, type SteadyLoad } from './load.ts'
import { podManifest, podsPath } from './pod.ts'
import { processorUs } from './process.ts'
import { quantile, type Row } from './rows.ts'
import { type Running, type World } from './world.ts'

const shape = { connections: 8, streams: 8 }
const rounds = 9
const warmRounds = 20
const bindingCounts = [10, 1_000, 10_000] as const
const rbacGroup = 'rbac.authorization.k8s.io'
/** Who the methods say it is; the OIDC and webhook users are in the group too. */
const userName = 'bench'
const userGroup = 'bench-group'
const oneGet = { method: 'GET' as const, path: `${podsPath}/one` }

/**
 * Bindings as a cluster with many tenants has them: half of them for other users, half for a group of the user in other
 * namespaces. The last one gives every method's user what it gets.
 */
function policyOf(count: number): [string, KubeObject][] {
  const { clusterRoles, clusterRoleBindings, roleBindings } = resourcesOf(dialects.kubernetes)
  const roleRef = (name: string) => ({ apiGroup: rbacGroup, kind: 'ClusterRole', name })
  const apiVersion = `${rbacGroup}/v1`
  const subject = (kind: string, name: string) => ({ apiGroup: rbacGroup, kind, name })
  const role = (name: string, resources: string[]): [string, KubeObject] => [
    storeKey(clusterRoles, name),
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name, uid: name },
      rules: [{ apiGroups: [''], resources, verbs: ['get', 'list', 'watch'] }],
    },
  ]
  const tenants = Array.from({ length: count - 1 }, (_, at): [string, KubeObject] => {
    const namespace = `tenant-${at}`
    const who = at % 2 === 0 ? subject('User', `user-${at}`) : subject('Group', userGroup)
    return [
      storeKey(roleBindings, `${namespace}/readers`),
      {
        apiVersion,
        kind: 'RoleBinding',
        metadata: { name: 'readers', namespace, uid: `binding-${at}` },
        roleRef: roleRef('bench-other'),
        subjects: [who],
      },
    ]
  })
  return [
    role('bench-other', ['configmaps', 'services']),
    role('bench-pods', ['pods']),
    ...tenants,
    [
      storeKey(clusterRoleBindings, 'bench-pods'),
      {
        apiVersion,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'bench-pods', uid: 'binding' },
        roleRef: roleRef('bench-pods'),
        subjects: [
          subject('User', userName),
          subject('User', 'system:anonymous'),
          { kind: 'ServiceAccount', name: userName, namespace: 'default' },
        ],
      },
    ],
  ]
}

async function writePolicy(world: World, storeName: string, count: number): Promise<void> {
  const store = await openSqliteStore({ path: world.file(storeName) })
  await Promise.all(
    policyOf(count).map(async ([key, object]) => {
      const value = encodeForStore(object)
      const { ok } = await store.txn({ key, expectedRevision: 0, value })
      if (!ok) throw new Error(`${key} is there already`)
    }),
  )
  await store.close()
}

/** A pod to get and a service account with a token, made by the administrator. */
async function prepare(server: Running): Promise<string> {
  const session = openSession(server.endpoint)
  const post = async (path: string, body: unknown): Promise<void> => {
    const bytes = Buffer.from(JSON.stringify(body))
    const { status } = await exchange(session, { method: 'POST', path, body: bytes })
    if (status !== 201) throw new Error(`POST ${path} answered ${status}`)
  }
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await post(podsPath, podManifest('one'))
  await post(accounts, { metadata: { name: userName } })
  const path = `${accounts}/${userName}/token`
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/json',
  })
  stream.end('{"spec":{"expirationSeconds":86400}}')
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  const { status } = JSON.parse(Buffer.concat(chunks).toString()) as { status: { token: string } }
  session.close()
  return status.token
}

interface Authorization {
  readonly name: string
  readonly flags: readonly string[]
  readonly bindings: number
}

type Methods = Readonly<Record<string, Pick<Endpoint, 'cert' | 'key' | 'token'>>>

/** Gets of one kind from one server. */
interface Kind {
  readonly endpoint: Endpoint
  readonly pid: number
}

/** One method under one authorization, and what it is compared with. */
interface Cell {
  readonly name: string
  readonly kind: Kind
  readonly bare: Kind
  readonly slices: { readonly kind: Slice; readonly bare: Slice }[]
}

interface Slice {
  readonly perSecond: number
  readonly cpuUs: number
}

async function slice(from: SteadyLoad, pid: number, requests: number): Promise<Slice> {
  const before = processorUs(pid)
  const perSecond = await from.run(requests)
  return { perSecond, cpuUs: (processorUs(pid) - before) / requests }
}

/** Both in turn, over connections that stay; the first rounds are for the compilers. */
async function measure(cell: Cell, requests: number): Promise<void> {
  const more = { ...shape, status: 200, next: () => oneGet }
  const [kind, bare] = [cell.kind, cell.bare].map(({ endpoint }) => openLoad(endpoint, more))
  if (kind === undefined || bare === undefined) return
  try {
    await slice(kind, cell.kind.pid, requests * warmRounds)
    await slice(bare, cell.bare.pid, requests * warmRounds)
    for (let round = 0; round < rounds; round += 1) {
      const before = await slice(bare, cell.bare.pid, requests)
      cell.slices.push({ bare: before, kind: await slice(kind, cell.kind.pid, requests) })
    }
  } finally {
    kind.close()
    bare.close()
  }
}

function rowOf({ name, slices }: Cell): Row {
  const middle = (of: (one: Cell['slices'][number]) => number): number =>
    quantile(slices.map(of), 0.5)
  const rate = (of: 'kind' | 'bare'): string =>
    `${Math.round(middle((one) => one[of].perSecond))}/s`
  const us = (of: 'kind' | 'bare'): string => middle((one) => one[of].cpuUs).toFixed(1)
  return {
    name: `get: ${name}`,
    skiff: rate('kind'),
    bare: rate('bare'),
    ratio: `${Math.round(middle(({ kind, bare }) => bare.cpuUs / kind.cpuUs) * 100)} %`,
    note: `${us('kind')} µs of processor each, ${us('bare')} µs without`,
  }
}

type IssuerHost = Awaited<ReturnType<typeof startIssuerHost>>
type ReviewRemote = Awaited<ReturnType<typeof startReviewRemote>>
type Issuer = ReturnType<IssuerHost['at']>

/** What all servers of the measurement share. */
interface Parties {
  readonly world: World
  readonly issuers: IssuerHost
  readonly issuer: Issuer
  readonly remote: ReviewRemote
}

/** The webhooks know one token, and allow every access. */
function answerReviews(remote: ReviewRemote): void {
  remote.answer = ({ kind, spec }) => {
    if (kind === 'SubjectAccessReview') return { status: { allowed: true } }
    const isOurs = (spec as { token?: string }).token === 'webhook-token'
    return isOurs
      ? { status: { authenticated: true, user: { username: userName, groups: [userGroup] } } }
      : { status: { authenticated: false } }
  }
}

function authenticationFlags({ world, issuers, issuer, remote }: Parties): string[] {
  const file = (name: string, text: string): string => {
    writeFileSync(world.file(name), text)
    return world.file(name)
  }
  return [
    '--anonymous-auth=true',
    '--enable-bootstrap-token-auth=true',
    `--token-auth-file=${file('bench-tokens.csv', `static-token,${userName},1,${userGroup}\n`)}`,
    `--oidc-issuer-url=${issuer.url}`,
    '--oidc-client-id=client',
    '--oidc-username-prefix=-',
    '--oidc-groups-claim=groups',
    `--oidc-ca-file=${file('bench-issuer.crt', issuers.ca)}`,
    `--authentication-token-webhook-config-file=${remote.kubeconfig(world.file(''))}`,
    '--authentication-token-webhook-cache-ttl=1h',
  ]
}

function authorizationsOf({ world, remote }: Parties): Authorization[] {
  return [
    { name: 'AlwaysAllow', flags: ['--authorization-mode=AlwaysAllow'], bindings: 0 },
    // The same as the first: shows how far two processes differ that do the same.
    {
      name: 'AlwaysAllow in another process',
      flags: ['--authorization-mode=AlwaysAllow'],
      bindings: 0,
    },
    ...bindingCounts.map((bindings) => ({
      name: `RBAC, ${bindings.toLocaleString('en')} bindings`,
      flags: ['--authorization-mode=Node,RBAC'],
      bindings,
    })),
    {
      name: 'webhook, cached',
      flags: [
        '--authorization-mode=Webhook',
        `--authorization-webhook-config-file=${remote.kubeconfig(world.file(''))}`,
        '--authorization-webhook-version=v1',
        '--authorization-webhook-cache-authorized-ttl=1h',
      ],
      bindings: 0,
    },
  ]
}

function methodsOf({ world, issuer }: Parties, serviceAccountToken: string): Methods {
  return {
    anonymous: {},
    'client certificate': world.credentialFor(userName),
    'static token': { token: 'static-token' },
    'service account token': { token: serviceAccountToken },
    'OIDC token': { token: issuer.token({ sub: userName, groups: [userGroup] }) },
    'token webhook, cached': { token: 'webhook-token' },
  }
}

/** The cells of one server, a method each; they are compared with anonymous gets from `open`. */
function cellsOf(
  methods: Methods,
  { server, open, authorization }: { server: Running; open: Running; authorization: string },
): Cell[] {
  const { origin, ca } = server.endpoint
  return Object.entries(methods).map(([method, shown]) => {
    const ignored = shown.token && `Bearer ${shown.token}`
    return {
      name: `${method}, ${authorization}`,
      kind: { endpoint: { origin, ca, ...shown }, pid: server.pid },
      bare: {
        endpoint: { origin: open.endpoint.origin, ca, ...(ignored && { ignored }) },
        pid: open.pid,
      },
      slices: [],
    }
  })
}

/** Starts one server per authorization and adds it to `running`; resolves with the cells of each. */
async function startServers(parties: Parties, running: Running[]): Promise<Cell[][]> {
  const { world } = parties
  const authentication = authenticationFlags(parties)
  const all: Cell[][] = []
  for (const [at, { name, flags, bindings }] of authorizationsOf(parties).entries()) {
    const storeName = `access-${at}.db`
    if (bindings > 0) await writePolicy(world, storeName, bindings)
    const server = await world.startServer(storeName, [...authentication, ...flags])
    running.push(server)
    const methods = methodsOf(parties, await prepare(server))
    const open = running[0] ?? server
    all.push(cellsOf(methods, { server, open, authorization: name }))
  }
  return all
}

/** The `bare` column is anonymous with AlwaysAllow; the ratio is that of the processor time per request, the median of all rounds. */
export async function measureAccess(world: World, durationMs: number): Promise<Row[]> {
  const issuers = await startIssuerHost()
  const remote = await startReviewRemote()
  const running: Running[] = []
  try {
    answerReviews(remote)
    const parties = { world, issuers, issuer: issuers.at('/bench'), remote }
    const byServer = await startServers(parties, running)
    // One server answers all that others are compared with: the others must be as warm as it will be.
    for (const [first] of byServer) {
      if (first === undefined) continue
      const more = { ...shape, status: 200, next: () => oneGet }
      const warm = openLoad(first.kind.endpoint, more)
      await warm.run(durationMs * warmRounds)
      warm.close()
    }
    const cells = byServer.flat()
    for (const cell of cells) await measure(cell, Math.round(durationMs / 8))
    const alone = bindingCounts.map((count) =>
      measureDecisions(policyOf(count), {
        name: `one decision of Node,RBAC, ${count.toLocaleString('en')} bindings`,
        user: userName,
        groups: [userGroup, 'system:authenticated'],
      }),
    )
    return [...cells.map(rowOf), ...alone]
  } finally {
    await Promise.all(running.map((one) => one.stop()))
    await issuers[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
  }
}
