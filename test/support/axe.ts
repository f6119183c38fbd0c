/** What axe-core finds wrong with a page of the console. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Runs in the page, whose globals tests do not know. Colours that are still moving would have another contrast. */
const checking = `(async () => {
  await Promise.allSettled(document.getAnimations().map(({ finished }) => finished))
  const { violations } = await axe.run(document, { resultTypes: ['violations'] })
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => id + ': ' + target.join(' ') + ': ' + failureSummary),
  )
})()`

/** `rule: element: why`, one line for each; nothing when the page is accessible. */
async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return await page.evaluate<string[]>(checking)
}

/** The same, in the light and in the dark. */
export async function accessibilityFaultsInBoth(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    faults.push(...(await accessibilityFaults(page)))
  }
  return faults
}
