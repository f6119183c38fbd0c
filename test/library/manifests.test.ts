/** Manifests: which files and objects are found, in which order, and how all that cannot be read is told. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManifestError } from '../../library/manifest-error.ts'
import { readManifests } from '../../library/manifests.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`

/** A folder with these files. */
function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = temporaryFolder('manifests')
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return folder
}

/** `file:line name` of each object, with paths below the folder. */
async function found(folder: string, ...names: string[]): Promise<string[]> {
  const paths = names.length === 0 ? [folder] : names.map((name) => join(folder, name))
  const manifests = await readManifests(paths)
  return manifests.map(
    ({ place, object }) => `${place.replace(`${folder}/`, '')} ${object.metadata?.name ?? ''}`,
  )
}

/** The lines of the ManifestError, with paths below the folder. */
async function faults(folder: string, ...names: string[]): Promise<string[]> {
  try {
    await found(folder, ...names)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const [summary, ...lines] = error.message.replaceAll(folder, '.').split('\n')
    expect(summary).toBe('these manifests cannot be read:')
    expect(lines).toHaveLength(error.faults.length)
    return lines.map((line) => line.trim())
  }
  throw new Error('all were read')
}

describe('readManifests', () => {
  it('reads YAML and JSON of a folder and those in it, sorted, and leaves other files alone', async () => {
    const folder = folderOf({
      'b.yaml': configMap('b'),
      'a.yml': configMap('a'),
      'c.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }),
      'README.md': '# no manifest',
      'b/z.yaml': configMap('z'),
      'B/y.yaml': configMap('y'),
    })
    expect(await found(folder)).toEqual([
      'B/y.yaml:1 y',
      'a.yml:1 a',
      'b/z.yaml:1 z',
      'b.yaml:1 b',
      'c.json:1 c',
    ])
  })

  it('keeps the order of what is named, whatever a named file is called', async () => {
    const folder = folderOf({ 'z.txt': configMap('z'), 'a.yaml': configMap('a') })
    expect(await found(folder, 'z.txt', 'a.yaml')).toEqual(['z.txt:1 z', 'a.yaml:1 a'])
  })

  it('tells the line of each document and of each item of a list', async () => {
    const folder = folderOf({
      'all.yaml': [
        '# a comment',
        '---',
        '# another',
        configMap('a'),
        '---',
        '---',
        'apiVersion: v1',
        'kind: List',
        'items:',
        '- apiVersion: v1',
        '  kind: ConfigMap',
        '  metadata: { name: b }',
        '- { apiVersion: v1, kind: ConfigMap, metadata: { name: c } }',
        '---',
        'apiVersion: v1',
        'kind: ConfigMapList',
        'items: []',
        '',
      ].join('\n'),
      'tabs.json':
        '{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {"name": "d"}\n}\n',
      'windows.yaml': `\uFEFF---\r\n${configMap('e').replaceAll('\n', '\r\n')}`,
    })
    expect(await found(folder)).toEqual([
      'all.yaml:4 a',
      'all.yaml:14 b',
      'all.yaml:17 c',
      'tabs.json:1 d',
      'windows.yaml:2 e',
    ])
  })

  it('reads anchors within a document', async () => {
    const folder = folderOf({
      'a.yaml': `${configMap('a')}  labels: &l { x: y }\n  annotations: *l\n`,
    })
    const [manifest] = await readManifests([folder])
    expect(manifest?.object.metadata).toEqual({
      name: 'a',
      labels: { x: 'y' },
      annotations: { x: 'y' },
    })
  })

  it('takes objects as they are', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    expect(await readManifests([object, object])).toEqual([
      { object, place: 'objects[0]' },
      { object, place: 'objects[1]' },
    ])
    const list = { apiVersion: 'v1', kind: 'List', items: [object] }
    expect(await readManifests([object, list])).toEqual([
      { object, place: 'objects[0]' },
      { object, place: 'objects[1].items[0]' },
    ])
  })

  it('lists every file and document that cannot be read, each with its line', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (const [name, last] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg']) {
      bomb.push(`${name}: &${name} [${Array(9).fill(`*${last}`).join(', ')}]`)
    }
    const folder = folderOf({
      'bad.yaml': `${configMap('a')}---\nkind: [\n`,
      'binary.yaml': Buffer.from([0xff, 0xfe, 0x61, 0]),
      'bomb.yaml': `${configMap('bomb')}data:\n${bomb.map((line) => `  ${line}\n`).join('')}`,
      'kindless.yaml': 'apiVersion: v1\nmetadata: { name: a }\n',
      'list.json': '[1, 2]',
      'nameless.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: a- }\n',
      'twice.yaml': 'apiVersion: v1\nkind: ConfigMap\nkind: Secret\n',
      'empty/nothing.txt': '',
    })
    symlinkSync(join(folder, 'gone'), join(folder, 'dangling.yaml'))
    expect(await faults(folder)).toEqual([
      './binary.yaml: is not UTF-8 text',
      './dangling.yaml: there is no such file or folder',
      './bad.yaml:7: deficient indentation',
      './bomb.yaml:1: document contains excessive aliasing',
      './kindless.yaml:1: is not a manifest: it needs apiVersion, kind and metadata.name',
      './list.json:1: is not a manifest: it needs apiVersion, kind and metadata.name',
      './nameless.yaml:1: ConfigMap: has no metadata.name',
      './twice.yaml:3: duplicated mapping key',
    ])
    expect(await faults(folder, 'empty', 'missing')).toEqual([
      './empty: the folder has no .yaml, .yml, .json file',
      './missing: there is no such file or folder',
    ])
  })

  it('reads of a folder with a kustomization what that lists, in its order', async () => {
    const folder = folderOf({
      'config/crd/kustomization.yaml':
        'resources:\n- bases/b.yaml\n- ../rbac\n# scaffolded\npatches:\n#- path: p.yaml\n',
      'config/crd/bases/a.yaml': configMap('a'),
      'config/crd/bases/b.yaml': configMap('b'),
      'config/crd/kustomizeconfig.yaml': 'nameReference: []\n',
      'config/rbac/Kustomization': 'kind: Kustomization\nresources: [role.yaml]\n',
      'config/rbac/role.yaml': configMap('role'),
    })
    expect(await found(folder, 'config/crd')).toEqual([
      'config/crd/bases/b.yaml:1 b',
      'config/rbac/role.yaml:1 role',
    ])
  })

  it('says what a kustomization asks for beyond its resources, and where it cannot be read', async () => {
    const folder = folderOf({
      'default/kustomization.yaml': 'namePrefix: shop-\nresources: [../crd]\npatches: [{}]\n',
      'lost/kustomization.yaml': 'resources: [none.yaml, https://example.com/x.yaml]\n',
      'odd/kustomization.yaml': 'resources: { a: b }\n',
      'round/kustomization.yaml': 'resources: [../round]\n',
      'other.yaml': 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n',
      'flux.yaml':
        'apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: { name: f }\n',
    })
    expect(await faults(folder)).toEqual([
      expect.stringMatching(
        /^\.\/default\/kustomization.yaml: kustomizations are read for their resources alone, not for namePrefix, patches: /,
      ),
      './lost/none.yaml: there is no such file or folder',
      'https://example.com/x.yaml: manifests are files and folders: download it first',
      './odd/kustomization.yaml: resources must be a list of files and folders',
      './round: is nested more than 32 folders deep',
      './other.yaml:1: is a kustomization: call its file kustomization.yaml',
    ])
    expect(await found(folder, 'flux.yaml')).toEqual(['flux.yaml:1 f'])
  })

  it('reads nothing from the network', async () => {
    await expect(readManifests(['https://example.com/crd.yaml'])).rejects.toThrow(
      'https://example.com/crd.yaml: manifests are files and folders: download it first',
    )
  })

  it('a folder that holds itself by a link is read once', async () => {
    const folder = folderOf({ 'a.yaml': configMap('a') })
    symlinkSync(folder, join(folder, 'again'))
    expect(await found(folder)).toEqual(['a.yaml:1 a'])
  })
})
