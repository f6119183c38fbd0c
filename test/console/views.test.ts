/** The console's page in a real browser, on an API server of this process: cluster, timeline and requests. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { accessibilityFaultsInBoth } from '../support/axe.ts'
import { openBrowser, requireChromium } from '../support/chromium.ts'
import { kubeconfigOf } from '../support/kubeconfig-of.ts'
import { ownPort } from '../support/own-port.ts'
import { serveConsole, type ServedConsole } from '../support/served-console.ts'

const withChromium = requireChromium()
/** A busy machine takes its time; the page itself never waits for it. */
const patience = { timeout: 20_000 }

const markup = '<img src=x onerror="globalThis.broken=1"><script>globalThis.broken=1</script>'

let server: TestApiServer
let served: ServedConsole
let browser: Browser

function nodeObject(name: string, more: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: {},
    status: {
      allocatable: { pods: '110', cpu: '2', memory: '4Gi' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    },
    ...more,
  }
}

function podObject(name: string, nodeName?: string, more: object = {}) {
  const container = { name: 'main', image: 'example.com/app:1' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', ...more },
    spec: { containers: [container], ...(nodeName !== undefined && { nodeName }) },
  }
}

async function create(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<string> {
  const made = await server.ok('POST', path, { body, headers })
  return made.metadata.resourceVersion as string
}

const pods = '/api/v1/namespaces/shop/pods'

/** What another site may try, as a script of its page: it gives everything that it got to see. */
const attack = (port: number): string => `(async () => {
  const got = []
  for (const credentials of ['include', 'omit']) {
    const headers = { 'x-skiff-console': '1' }
    await fetch('http://127.0.0.1:${port}/cluster/api/v1/secrets', { credentials, headers })
      .then(async (answer) => got.push(await answer.text()), () => {})
  }
  await new Promise((resolve) => {
    const socket = new WebSocket('ws://127.0.0.1:${port}/live')
    socket.onmessage = ({ data }) => got.push(data)
    socket.onclose = resolve
  })
  const frame = document.createElement('iframe')
  frame.src = 'http://127.0.0.1:${port}/'
  document.body.append(frame)
  await new Promise((resolve) => (frame.onload = resolve))
  return got
})()`

/** Texts of errors that the page has thrown. */
function errorsOf(page: Page): string[] {
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  return errors
}

withChromium('the page', () => {
  beforeAll(async () => {
    server = await startApiServer({
      store: 'sqlite',
      // The page finds the server again where it was.
      flags: [`--secure-port=${ownPort()}`],
    })
    await server.namespace('shop')
    for (const name of ['node-1', 'node-2']) await create('/api/v1/nodes', nodeObject(name))
    await create(pods, podObject('first', 'node-1'))
    served = await serveConsole(await kubeconfigOf(server))
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await served[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  test('shows the cluster, and each change as it happens', async () => {
    const page = await served.open(browser, '#/cluster')
    const errors = errorsOf(page)
    await page.getByText('2 of 2 nodes Ready').waitFor(patience)
    await create(pods, podObject('second', 'node-2'))
    await page.getByText('2 pods', { exact: true }).waitFor(patience)
    await create(pods, podObject('third'))
    await page.getByText('1 without a node').waitFor(patience)
    await server.ok('DELETE', `${pods}/third?gracePeriodSeconds=0`)
    await page.getByText('1 without a node').waitFor({ ...patience, state: 'detached' })
    expect(errors).toEqual([])
    await page.context().close()
  })

  test('lets the keyboard choose a node, and shows it and its pods in words', async () => {
    const page = await served.open(browser, '#/cluster')
    await page.getByText('2 of 2 nodes Ready').waitFor(patience)
    await page.locator('canvas').focus()
    await page.keyboard.press('ArrowRight')
    const panel = page.getByRole('complementary', { name: 'Node node-1' })
    await panel.getByText('110 pods').waitFor(patience)
    await panel.getByRole('button', { name: /shop\/first/ }).click()
    await page
      .getByRole('region', { name: 'Pod shop/first' })
      .getByText('example.com/app:1')
      .waitFor(patience)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.locator('canvas').focus()
    await page.keyboard.press('Escape')
    await panel.waitFor({ ...patience, state: 'detached' })
    await page.context().close()
  })

  test('tells a story from its first write to the last, and takes the page back in time', async () => {
    const page = await served.open(browser, '#/timeline')
    const apps = '/apis/apps/v1/namespaces/shop'
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
    }
    const spec = { selector: { matchLabels: { a: 'b' } }, template }
    const [first, second] = ['deployments', 'replicasets'].map((plural) => `${apps}/${plural}`)
    const made = await create(first ?? '', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec,
    })
    const caused = { 'skiff-cause': `watch deployments.apps shop/web ${made}` }
    const set = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web-1' }, spec }
    await create(second ?? '', set, caused)
    const writes = page.getByRole('list', { name: 'Writes, newest first' })
    await writes
      .getByRole('button', { name: /create replicasets\.apps shop\/web-1/ })
      .click(patience)
    await page.getByText('The object was created.').waitFor(patience)
    await page.getByRole('button', { name: 'Story' }).click()
    const story = page
      .getByRole('list', { name: 'Story, each effect below its cause' })
      .getByRole('listitem')
    await expect.poll(async () => await story.count(), patience).toBe(2)
    expect(await story.nth(0).innerText()).toMatch(/create deployments\.apps shop\/web/)
    expect(await story.nth(1).innerText()).toMatch(/it saw deployments\.apps shop\/web at/)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])

    await create(pods, podObject('later', 'node-1'))
    await page.getByRole('button', { name: 'Show this moment' }).click()
    await page.getByText(/As of revision/).waitFor(patience)
    await page.getByRole('link', { name: 'Cluster' }).click()
    await page.getByText('2 pods', { exact: true }).waitFor(patience)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText('3 pods', { exact: true }).waitFor(patience)
    await page.context().close()
  })

  test('shows what a write changed, field by field', async () => {
    const page = await served.open(browser, '#/timeline')
    await server.ok('PATCH', `${pods}/first`, {
      body: { metadata: { labels: { colour: 'blue' } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    await page
      .getByRole('button', { name: /patch pods shop\/first/ })
      .first()
      .click(patience)
    await page.getByRole('cell', { name: 'metadata.labels' }).waitFor(patience)
    await page.context().close()
  })

  test('shows requests with their decisions, denied ones first', async () => {
    const page = await served.open(browser, '#/requests')
    await page.getByRole('heading', { name: 'Newest first' }).waitFor(patience)
    const denied = page.getByRole('list', { name: 'Denied requests' })
    await expect
      .poll(async () => {
        await server.request('GET', '/api/v1/secrets', { as: { user: 'mallory' } })
        return await denied.getByRole('button', { name: /403.*mallory.*list secrets/ }).count()
      }, patience)
      .toBeGreaterThan(0)
    await denied.getByRole('button').first().click()
    await page
      .getByRole('complementary', { name: 'Request' })
      .getByText(/^deny|forbid/)
      .first()
      .waitFor(patience)
    await page.getByRole('cell', { name: 'pods', exact: true }).first().waitFor(patience)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.context().close()
  })

  test('says so when the API server goes away, and goes on when it is back', async () => {
    const page = await served.open(browser, '#/cluster')
    await page.getByText('2 of 2 nodes Ready').waitFor(patience)
    await server.restartWith(async () => {
      await page.getByText(/The API server does not answer/).waitFor(patience)
    })
    await page
      .getByText(/The API server does not answer/)
      .waitFor({ ...patience, state: 'detached' })
    await create('/api/v1/nodes', nodeObject('node-3'))
    await page.getByText('3 of 3 nodes Ready').waitFor(patience)
    await server.ok('DELETE', '/api/v1/nodes/node-3')
    await page.context().close()
  })

  test('runs nothing that an object, a request or an event says', async () => {
    const page = await served.open(browser, '#/requests')
    await create(
      '/api/v1/nodes',
      nodeObject('marked', { spec: { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } }),
    )
    await create(pods, podObject('marked', 'marked', { annotations: { note: markup } }))
    const involvedObject = { kind: 'Pod', namespace: 'shop', name: 'marked' }
    await create('/api/v1/namespaces/shop/events', {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'marked' }, involvedObject },
      ...{ reason: markup, message: markup, type: markup, firstTimestamp: null },
    })
    await server.request('PATCH', `${pods}/marked/status`, {
      body: { status: { phase: 'Failed', reason: markup, message: markup } },
      headers: { 'content-type': 'application/merge-patch+json', 'user-agent': markup },
    })
    // Reads are in the journal only once the page follows it.
    await expect
      .poll(async () => {
        await server.request('GET', '/api/v1/namespaces/shop/pods/x', {
          as: { user: markup },
          headers: { 'user-agent': markup, 'skiff-cause': `timer ${markup}` },
        })
        return await page.getByText(markup.slice(0, 20)).count()
      }, patience)
      .toBeGreaterThan(0)
    for (const view of ['cluster', 'timeline', 'requests']) {
      await page.goto(`http://127.0.0.1:${served.port}/#/${view}`)
      await page.getByRole('heading', { level: 1 }).waitFor(patience)
    }
    expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false)
    expect(await page.locator('img[src="x"]').count()).toBe(0)
    await page.context().close()
  })

  test('gives another website nothing: neither frames nor requests nor WebSockets reach it', async () => {
    const other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>another site</p>')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const page = await served.open(browser, '#/cluster')
    await page.getByText(/nodes Ready/).waitFor(patience)
    // The same browser, with the session's cookie; another port is another origin of the same site.
    await page.goto(`http://localhost:${(other.address() as AddressInfo).port}/`)
    const seen = await page.evaluate(attack(served.port))
    expect(seen).toEqual([])
    const [, frame] = page.frames()
    expect(await frame?.locator('canvas').count()).toBe(0)
    await page.context().close()
    other.close()
  })

  test('shows a user who may see one namespace what that user may see, and says what is missing', async () => {
    const rbac = `/apis/rbac.${server.dialect.apiDomain === 'k8s.io' ? 'authorization.k8s.io' : 'authorization.svc.io'}/v1`
    const apiGroup = server.group('rbac.authorization')
    await create(`${rbac}/namespaces/shop/rolebindings`, {
      ...{ apiVersion: `${apiGroup}/v1`, kind: 'RoleBinding', metadata: { name: 'jane' } },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup, kind: 'User', name: 'jane' }],
    })
    await using janes = await serveConsole(await kubeconfigOf(server), {
      as: { user: 'jane', groups: [] },
    })
    const page = await janes.open(browser, '#/cluster')
    await page.getByText(/You may not see nodes/).waitFor(patience)
    await page.getByText('jane', { exact: true }).waitFor(patience)
    await page.getByRole('link', { name: 'Requests' }).click()
    await page
      .getByText(/No requests to show: you may not read the request journal/)
      .waitFor(patience)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.context().close()
  })

  test('says so when the token of the viewer ends under the page', async () => {
    const accounts = '/api/v1/namespaces/shop/serviceaccounts'
    await create(accounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'viewer' },
    })
    const { status } = await server.ok('POST', `${accounts}/viewer/token`, { body: { spec: {} } })
    const apiGroup = server.group('rbac.authorization')
    await create(`/apis/${apiGroup}/v1/clusterrolebindings`, {
      ...{ apiVersion: `${apiGroup}/v1`, kind: 'ClusterRoleBinding', metadata: { name: 'viewer' } },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: 'viewer' }],
    })
    await using viewers = await serveConsole(await kubeconfigOf(server, status.token as string))
    const page = await viewers.open(browser, '#/cluster')
    await page.getByText(/nodes Ready/).waitFor(patience)
    await server.ok('DELETE', `${accounts}/viewer`)
    await page.getByText('The credential is not valid any more').waitFor(patience)
    await page.context().close()
  })
})
