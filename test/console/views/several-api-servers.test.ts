/** Timeline and Requests in a browser, on a cluster of two API servers over one etcd. */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Cluster } from '../../../cluster/cluster.ts'
import { apiServerAddresses, apiServerClient } from '../../../cluster/history/api-server-clients.ts'
import { createClientOver } from '../../../components/client/client.ts'
import { impersonatedClient } from '../../../console/server/impersonated-client.ts'
import { killHard, pidOf } from '../../e2e/machine.ts'
import { createPlace } from '../../e2e/place.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { requireEtcd } from '../../support/etcd.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const timeout = 60_000
const viewer = 'jane'

/** The right to read the journals. */
const rights = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'journals' },
    rules: [{ nonResourceURLs: ['/explain/*', '/livez', '/version'], verbs: ['get'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'journals' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'journals' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: viewer }],
  },
]

/** Binds the right to see which API servers there are; `view` has it, and events of its own. */
const listing = {
  path: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
  body: {
    metadata: { name: 'journals', namespace: 'default' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: viewer }],
  },
}

requireEtcd()('with two API servers', () => {
  const place = createPlace()
  let cluster: Cluster
  let browser: Browser
  let served: ServedConsole
  let addresses: readonly string[]

  beforeAll(async () => {
    cluster = await place.up('two', [
      ...['--store', 'etcd', '--etcd-members', '1', '--api-servers', '2', '--nodes', '0'],
    ])
    addresses = await apiServerAddresses(cluster.client)
    browser = await openBrowser()
    served = await serveConsole(readFileSync(cluster.paths.adminKubeconfig, 'utf8'))
  }, 240_000)

  afterAll(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  }, 60_000)

  /** Creates a config map by one of the servers. */
  const writeBy = async (server: string, name: string): Promise<void> => {
    const rest = await apiServerClient(cluster.client, server)
    try {
      const path = '/api/v1/namespaces/default/configmaps'
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
      await rest.json({ method: 'POST', path, body })
    } finally {
      rest.close()
    }
  }
  const shows = async (page: Page, text: RegExp): Promise<void> =>
    await page.getByRole('listitem').filter({ hasText: text }).first().waitFor({ timeout })

  it('shows the writes of both, in the order of their revisions', async () => {
    expect(addresses).toHaveLength(2)
    const names = Array.from({ length: 6 }, (_, at) => `by-${at % 2}-${at}`)
    for (const name of names.slice(0, 4))
      await writeBy(addresses[Number(name.split('-')[1])] ?? '', name)
    const page = await served.open(browser, '#/timeline')
    await page.getByRole('searchbox', { name: 'Filter' }).fill('configmaps default/by-')
    for (const name of names.slice(0, 4)) await shows(page, new RegExp(name))
    for (const name of names.slice(4))
      await writeBy(addresses[Number(name.split('-')[1])] ?? '', name)
    await shows(page, /by-1-5/)
    const lines = await page.getByRole('list', { name: 'Writes, newest first' }).innerText()
    expect([...lines.matchAll(/by-\d-\d/g)].map(String)).toEqual(names.toReversed())
    for (const [at, server] of addresses.entries()) {
      await page
        .getByRole('button', { name: new RegExp(`by-${at}-`) })
        .first()
        .click({ timeout })
      await page
        .getByRole('complementary', { name: 'Write' })
        .getByText(server)
        .waitFor({ timeout })
    }
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.context().close()
  })

  it('asks each server as the viewer, and never with other rights', async () => {
    const { client } = cluster
    const as = { user: viewer, groups: [] }
    const impersonating = createClientOver(impersonatedClient(client.rest, as), client)
    for (const server of addresses) {
      const rest = await apiServerClient(impersonating, server)
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
      expect(await rest.json({ method: 'POST', path, body })).toMatchObject({
        status: { userInfo: { username: viewer } },
      })
      await expect(rest.json({ method: 'GET', path: '/explain/requests' })).rejects.toMatchObject({
        code: 403,
      })
      rest.close()
    }
    for (const body of rights) {
      const path = `/apis/rbac.authorization.k8s.io/v1/${body.kind.toLowerCase()}s`
      await cluster.client.rest.json({ method: 'POST', path, body })
    }
    const kubeconfig = readFileSync(cluster.paths.adminKubeconfig, 'utf8')
    {
      await using blind = await serveConsole(kubeconfig, { as })
      const page = await blind.open(browser, '#/requests')
      const note = page.getByText(
        /^Only requests of one API server .*you may not list EndpointSlices/,
      )
      await note.waitFor({ timeout })
      await shows(page, /by-[01]/)
      await cluster.client.rest.json({ method: 'POST', path: listing.path, body: listing.body })
      await note.waitFor({ state: 'detached', timeout })
      for (const name of ['by-0-0', 'by-1-1']) await shows(page, new RegExp(name))
      await page.context().close()
    }
    await using other = await serveConsole(kubeconfig, { as })
    const page = await other.open(browser, '#/requests')
    for (const name of ['by-0-0', 'by-1-1']) await shows(page, new RegExp(name))
    await cluster.client.rest.json({
      method: 'DELETE',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/journals',
    })
    await using without = await serveConsole(kubeconfig, { as })
    const late = await without.open(browser, '#/requests')
    await late.getByText('you may not read the request journal').waitFor({ timeout })
    for (const one of [page, late]) await one.context().close()
  })

  it('names a server that does not answer or has left, goes on with the other, and takes it back', async () => {
    const page = await served.open(browser, '#/timeline')
    await page.getByRole('searchbox', { name: 'Filter' }).fill('configmaps default/')
    await shows(page, /by-1-5/)
    const name = 'api-server-2'
    await killHard(await pidOf(cluster, name))
    await cluster.control.call('stop-component', { name })
    const note = page.getByRole('status').getByText(/^The API server https:/)
    await note.filter({ hasText: 'does not answer: its requests since' }).waitFor({ timeout })
    const text = (await note.textContent()) ?? ''
    const [dead = ''] = addresses.filter((server) => text.includes(server))
    const [alive = ''] = addresses.filter((server) => server !== dead)
    await writeBy(alive, 'without')
    await shows(page, /default\/without/)
    await shows(page, /by-1-5/)
    await shows(page, /by-0-4/)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await note.filter({ hasText: 'has left the cluster' }).waitFor({ timeout })
    await cluster.control.call('start-component', { name })
    await note.filter({ hasText: 'was out of reach from' }).waitFor({ timeout })
    expect(await note.filter({ hasText: 'does not answer' }).count()).toBe(0)
    await writeBy(dead, 'back')
    await shows(page, /default\/back/)
    expect(await page.getByRole('listitem').filter({ hasText: 'default/without' }).count()).toBe(1)
    await page.context().close()
  })
})
