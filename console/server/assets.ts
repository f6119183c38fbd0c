/** Assets: the files of the page, read once from the folder that the build made. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { StartError } from '../../components/component-base/component.ts'

export interface Asset {
  readonly type: string
  readonly body: Buffer
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** URL path -> asset. Throws a StartError when the page was not built. */
export function readAssets(folder: string): ReadonlyMap<string, Asset> {
  try {
    const assets = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined)
      .map(({ name }): [string, Asset] => [
        name === 'index.html' ? '/' : `/${name}`,
        { type: types[extname(name)] ?? '', body: readFileSync(join(folder, name)) },
      ])
    if (assets.length > 0) return new Map(assets)
  } catch (error) {
    throw new StartError(`the console's page is missing in ${folder}: run npm run build`, error)
  }
  throw new StartError(`the console's page is missing in ${folder}: run npm run build`)
}
