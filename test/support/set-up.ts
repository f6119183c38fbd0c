/**
 * Set-up of every test file. What it made in the temporary folder goes when it ends, after all of its own hooks. Properties
 * draw from one seed, so that a run says of the code and not of its luck: PROPERTY_SEED takes another number, or `random`
 * for one that each property chooses and tells.
 */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { removeTemporaryFolders } from './temporary-folder.ts'

const { PROPERTY_SEED: seed = '1' } = process.env
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })

afterAll(removeTemporaryFolders)
