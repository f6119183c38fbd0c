/** The console's page: one script and one style sheet for browsers, beside its static files. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'

const staticFiles = ['index.html', 'icon.svg']

/** Writes `dist/console-page`. Resolves with what went into it. */
export async function bundleConsolePage(
  root: string,
): Promise<{ metafile: Metafile; files: readonly string[] }> {
  const folder = 'dist/console-page'
  mkdirSync(join(root, folder), { recursive: true })
  for (const file of staticFiles) {
    copyFileSync(join(root, 'console/page', file), join(root, folder, file))
  }
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'console/page/main.tsx' },
    outdir: folder,
    bundle: true,
    // What is needed later, such as YAML, is loaded later.
    splitting: true,
    chunkNames: '[name]-[hash]',
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    preserveSymlinks: true,
    tsconfig: join(root, 'console/page/tsconfig.json'),
    metafile: true,
    logLevel: 'silent',
  })
  return { metafile, files: Object.keys(metafile.outputs) }
}
