/** The console's view Lessons in a browser, on an API server of this process: the list, the first steps of a lesson, and its end. */
import { request } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser, requireChromium } from '../../support/chromium.ts'
import { kubeconfigOf } from '../../support/kubeconfig-of.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const withChromium = requireChromium()
/** A busy machine takes its time; the page itself never waits for it. */
const patience = { timeout: 20_000 }

const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles'
const podReader = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'pod-reader' },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
}

let server: TestApiServer
let served: ServedConsole
let browser: Browser

const shows = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByText(text).first().waitFor(patience)
const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click(patience)
const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { name, exact: true }).waitFor(patience)

/** The code of an answer to a request that is not the page's. */
async function codeOf(path: string, method: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const sent = request({ host: '127.0.0.1', port: served.port, path, method }, (answer) => {
    answer.resume()
    resolve(answer.statusCode)
  })
  sent.on('error', reject).end()
  return await promise
}

withChromium('the view Lessons', () => {
  beforeAll(async () => {
    server = await startApiServer({ store: 'sqlite' })
    served = await serveConsole(await kubeconfigOf(server))
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  test('lists lessons, and gives the command for one that needs its own cluster', async () => {
    const page = await served.open(browser, '#/lessons')
    await page.getByRole('link', { name: 'Your first cluster' }).waitFor(patience)
    await shows(page, 'skiff lesson run join')
    expect(await page.getByRole('link', { name: 'How a node joins' }).count()).toBe(0)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
  })

  test('takes the first steps: a question, then an object, and deletes what was made', async () => {
    const page = await served.open(browser, '#/lessons', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('link', { name: 'Who may do what' }).click(patience)
    await press(page, 'Begin')
    await heading(page, 'No rights')

    const answer = page.getByRole('textbox', { name: 'Is the request allowed or denied?' })
    await shows(page, 'not answered yet')
    await answer.fill('allowed')
    await answer.press('Enter')
    await shows(page, 'that is another answer than expected')
    expect(await page.getByText('Each authorizer may allow').count()).toBe(0)
    await answer.fill('It is DENIED')
    await answer.press('Enter')
    await page.locator('.verdict.is-done').waitFor(patience)
    await shows(page, 'Each authorizer may allow')

    await press(page, 'Next')
    await heading(page, 'A Role')
    await shows(page, 'no such object')
    await press(page, 'Copy')
    await shows(page, 'Copied')
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(
      'kubectl create role pod-reader --verb=get,list,watch --resource=pods',
    )
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await server.ok('POST', roles, { body: podReader })
    await page.locator('.verdict.is-done').waitFor(patience)
    await shows(page, 'Alice still gets 403')
    expect(await accessibilityFaultsInBoth(page)).toEqual([])

    await page.reload()
    await heading(page, 'A Role')
    await page.locator('.verdict.is-done').waitFor(patience)
    await press(page, 'Back')
    await heading(page, 'No rights')

    await press(page, 'End the lesson')
    await shows(page, 'RoleBinding makers-edit')
    await press(page, 'Delete and end')
    await heading(page, 'Lessons')
    expect((await server.request('GET', `${roles}/pod-reader`)).status).toBe(404)
  })

  test('does not begin a lesson whose objects exist, and leaves them alone', async () => {
    await server.ok('POST', roles, { body: podReader })
    const page = await served.open(browser, '#/lessons/access')
    await press(page, 'Begin')
    await shows(page, 'Role default/pod-reader')
    expect((await server.request('GET', `${roles}/pod-reader`)).status).toBe(200)
    await server.ok('DELETE', `${roles}/pod-reader`)
  })

  test('does steps for the learner, with what earlier steps saved', async () => {
    const page = await served.open(browser, '#/lessons/finalizers')
    await press(page, 'Begin')
    await heading(page, 'An owner')
    await press(page, 'Do it for me')
    await page.locator('.verdict.is-done').waitFor(patience)
    expect(await page.getByRole('button', { name: 'Do it for me' }).count()).toBe(0)
    await press(page, 'Next')
    await heading(page, 'Something it owns')
    await press(page, 'Do it for me')
    await page.locator('.verdict.is-done').waitFor(patience)
    const maps = '/api/v1/namespaces/default/configmaps'
    const [library, book] = await Promise.all(
      ['library', 'book'].map((name) => server.ok('GET', `${maps}/${name}`)),
    )
    expect(book?.metadata.ownerReferences?.[0]?.uid).toBe(library?.metadata.uid)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await press(page, 'End the lesson')
    await press(page, 'Delete and end')
    await heading(page, 'Lessons')
  })

  test("does a step with the viewer's rights alone, and shows why it failed", async () => {
    const group = 'rbac.authorization.k8s.io'
    await server.ok('POST', `/apis/${group}/v1/clusterrolebindings`, {
      body: {
        ...{ apiVersion: `${group}/v1`, kind: 'ClusterRoleBinding', metadata: { name: 'jane' } },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
        subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
      },
    })
    await using janes = await serveConsole(await kubeconfigOf(server), {
      as: { user: 'jane', groups: [] },
    })
    const page = await janes.open(browser, '#/lessons/finalizers')
    await press(page, 'Begin')
    await heading(page, 'An owner')
    await press(page, 'Do it for me')
    await page
      .getByRole('alert')
      .filter({ hasText: 'User "jane" cannot create resource "configmaps"' })
      .waitFor(patience)
    await shows(page, 'no such object')
  })

  test('answers nothing but the page', async () => {
    expect(await codeOf('/lessons/', 'GET')).toBe(403)
    expect(await codeOf('/lessons/access/begin', 'POST')).toBe(403)
    expect(await codeOf('/lessons/access/perform', 'POST')).toBe(403)
    expect(await codeOf('/lessons/access/end', 'POST')).toBe(403)
  })
})
