/** Preview of a file: the image, video or audio itself where browsers can show it, otherwise an icon of its type. */
import {
  IconFile,
  IconFileMusic,
  IconFileText,
  IconFileTypePdf,
  IconFileZip,
  IconMovie,
  IconPhoto,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { client } from '../../api/client.ts';
import type { FileView } from './file-list.ts';
import classes from './files.module.css';

/** Larger ones would make a page of many files slow. */
const MAX_PICTURE_BYTES = 8_000_000;
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'];
const FILMS = ['video/mp4', 'video/webm'];

/** @param large with controls, for one file alone */
export function Preview({ file, large = false }: { readonly file: FileView; readonly large?: boolean }) {
  const { id, type, size } = file;
  const isPicture = PICTURES.includes(type) && size <= MAX_PICTURE_BYTES;
  const isPlayed = large && (FILMS.includes(type) || type === 'audio/mpeg');
  const address = useAddress(isPicture || isPlayed ? id : null);
  const [isBroken, setBroken] = useState(false);
  return (
    <div className={large ? `${classes.preview} ${classes.large}` : classes.preview}>
      {address === null || isBroken ? (
        <Sign type={type} />
      ) : isPicture ? (
        <img src={address} alt="" loading="lazy" onError={() => setBroken(true)} />
      ) : type === 'audio/mpeg' ? (
        <audio src={address} controls aria-label={file.name}>
          <track kind="captions" />
        </audio>
      ) : (
        <video src={address} controls aria-label={file.name}>
          <track kind="captions" />
        </video>
      )}
    </div>
  );
}

/** A URL that needs no credential; null before it is known, and for no file. */
export function useAddress(id: string | null): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    setAddress(null);
    if (id === null) return;
    let isRequested = true;
    client.files.createSignedUrl(id).then(
      (signed) => isRequested && setAddress(onThisServer(signed)),
      // The icon of the type is shown instead.
      () => undefined,
    );
    return () => {
      isRequested = false;
    };
  }, [id]);
  return address;
}

/** The server returns its public URL; the page may be open under another one, and can load images only from there. */
function onThisServer(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

function Sign({ type }: { readonly type: string }) {
  const [kind] = type.split('/');
  const Icon =
    kind === 'image'
      ? IconPhoto
      : kind === 'video'
        ? IconMovie
        : kind === 'audio'
          ? IconFileMusic
          : type === 'application/pdf'
            ? IconFileTypePdf
            : /zip|tar|compressed/.test(type)
              ? IconFileZip
              : kind === 'text' || type === 'application/json'
                ? IconFileText
                : IconFile;
  return <Icon size={40} stroke={1.2} aria-hidden />;
}
